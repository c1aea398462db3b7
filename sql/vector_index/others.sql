-- Indexes on chunks.embedding that ragctl did not build, by name.
SELECT c.relname::text AS name, am.amname::text AS method, pg_relation_size(c.oid) AS size_bytes
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_am am ON am.oid = c.relam
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attname = 'embedding'
WHERE i.indrelid = 'chunks'::regclass AND a.attnum = ANY (i.indkey)
  AND (c.oid <> coalesce(to_regclass('chunks_nearest_hnsw')::oid, 0)
       OR NOT EXISTS (SELECT FROM vector_index))
ORDER BY c.relname;
