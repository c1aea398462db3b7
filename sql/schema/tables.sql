-- Which of the tables that matter before any query exist where names are looked up, and where else
-- ragctl's may lie if not there.
SELECT to_regclass('schema_migrations') IS NOT NULL AS has_migrations,
       to_regclass('chunks') IS NOT NULL AS has_chunks,
       (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = to_regclass('chunks') AND attname = 'embedding' AND NOT attisdropped) AS embedding_type,
       CASE WHEN to_regclass('schema_migrations') IS NULL THEN
           (SELECT min(n.nspname::text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relname = 'index_identity' AND EXISTS (
                SELECT FROM pg_class other WHERE other.relname = 'schema_migrations'
                                             AND other.relnamespace = n.oid))
       END AS elsewhere;
