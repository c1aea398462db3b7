-- The index as it was built and measured, with its size; no row where ragctl built none, or where
-- somebody dropped it.
SELECT v.method, v.m, v.ef_construction, v.width, v.in_use, v.measured, v.measured_at,
       v.measured_rows, v.measured_last_id, v.measured_model, v.created_at,
       pg_relation_size(i.indexrelid) AS size_bytes
FROM vector_index v
JOIN pg_index i ON i.indexrelid = to_regclass('chunks_nearest_hnsw') AND i.indisvalid;
