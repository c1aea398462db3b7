-- Which of the named tables exist where names are looked up, and those that each refers to.
SELECT c.relname::text AS name,
       array(SELECT r.confrelid::regclass::text FROM pg_constraint r
             WHERE r.conrelid = c.oid AND r.contype = 'f' AND r.confrelid <> c.oid) AS refers_to
FROM pg_class c
WHERE c.relkind = 'r' AND c.oid IN (SELECT to_regclass(quote_ident(name)) FROM unnest(%(names)s::text[]) name)
ORDER BY c.relname;
