-- Notes that the index was built, not measured and not in use; returns nothing.
INSERT INTO vector_index (method, m, ef_construction)
VALUES ('hnsw', %(m)s, %(ef_construction)s);
