-- Removes the index that ragctl built; nothing where there is none.
DROP INDEX IF EXISTS chunks_nearest_hnsw;
