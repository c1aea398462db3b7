-- Lets a sequence of one of the named tables go on after a value; no row where it is none of them.
SELECT setval(s.oid::regclass, %(value)s, %(is_used)s)
FROM pg_class s
JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
JOIN pg_class t ON t.oid = d.refobjid
WHERE s.relkind = 'S' AND s.relname = %(name)s AND t.relname = ANY (%(tables)s)
  AND s.oid = to_regclass(quote_ident(s.relname));
