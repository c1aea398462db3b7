-- What the role may do: whether it may read passages, whether it may write at all, and which rights
-- of an ingest it lacks, such as "INSERT on chunks".
SELECT current_user::text AS role,
       has_table_privilege('chunks', 'SELECT') AND has_table_privilege('pages', 'SELECT') AS may_read,
       current_setting('transaction_read_only') = 'on' AS is_read_only,
       array(
           SELECT needed.privilege || ' on ' || needed.name
           FROM (
               SELECT t.name, p.privilege, p.n
               FROM unnest(%(written)s::text[]) AS t (name)
               CROSS JOIN (VALUES ('SELECT', 1), ('INSERT', 2), ('UPDATE', 3), ('DELETE', 4))
                   AS p (privilege, n)
               UNION ALL
               SELECT 'generation_slots', 'SELECT', 1
           ) AS needed
           WHERE NOT has_table_privilege(needed.name, needed.privilege)
           ORDER BY needed.name, needed.n
       ) || array(
           SELECT 'USAGE on chunks_id_seq' WHERE NOT has_sequence_privilege('chunks_id_seq', 'USAGE')
       ) AS missing;
