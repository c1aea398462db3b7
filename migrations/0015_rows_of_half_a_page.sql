-- A row of passages takes up to half a page, and only what does not fit goes out of line, the longest
-- first. By default everything longer than a pointer goes, address, reference and hash included, for
-- the vector alone is more than a row is meant to have: eight rows of TOAST a passage, now about two.
ALTER TABLE chunks SET (toast_tuple_target = 4080);
ALTER TABLE embedding_cache SET (toast_tuple_target = 4080);
-- Every search by words reads this column of many rows: unpacking it cost more than its length does.
ALTER TABLE chunks ALTER COLUMN search SET STORAGE EXTERNAL;

-- Rows that are there already are written anew, in the order of their ids. Where an index of vectors
-- would have to be built again with them, which may take hours, they stay as they are.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
                   JOIN pg_am ON pg_am.oid = relam
                   WHERE indrelid = 'chunks'::regclass AND amname IN ('hnsw', 'ivfflat')) THEN
        CLUSTER chunks USING chunks_pkey;
        ALTER TABLE chunks SET WITHOUT CLUSTER;
    END IF;
END $$;
