-- One row where ragctl built an approximate index over chunks.embedding, none where it did not:
-- how it was built, what was measured with it, and whether searches use it.
CREATE TABLE vector_index (
    only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    method            text NOT NULL CHECK (method = 'hnsw'),
    m                 int NOT NULL,
    ef_construction   int NOT NULL,
    width             int,
    in_use            boolean NOT NULL DEFAULT false CHECK (NOT in_use OR width IS NOT NULL),
    measured          jsonb,
    measured_at       timestamptz,
    measured_rows     int,
    measured_last_id  int,
    measured_model    text,
    created_at        timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE vector_index IS 'One row where ragctl built an approximate index over chunks.embedding.';
COMMENT ON COLUMN vector_index.width IS 'hnsw.ef_search of searches: how many candidates a search keeps; null: none is good enough.';
COMMENT ON COLUMN vector_index.measured IS 'Recall against the exact scan: source, questions, k, exact_ms, and width, recall, median_ms of each width.';
COMMENT ON COLUMN vector_index.measured_last_id IS 'The highest chunks.id then: with measured_rows it tells how many rows have changed since.';
