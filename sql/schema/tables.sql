-- Which of the tables that matter before any query exist where names are looked up.
SELECT to_regclass('schema_migrations') IS NOT NULL AS has_migrations,
       to_regclass('chunks') IS NOT NULL AS has_chunks,
       (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = to_regclass('chunks') AND attname = 'embedding' AND NOT attisdropped) AS embedding_type;
