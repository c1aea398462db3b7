-- Builds the index under ragctl's name; its numbers are put in by the client. Returns nothing.
CREATE INDEX chunks_nearest_hnsw ON chunks USING hnsw (embedding vector_cosine_ops)
WITH (m = %(m)s, ef_construction = %(ef_construction)s);
