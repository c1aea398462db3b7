-- The steps of a trace are a tree, and old traces go by themselves.
ALTER TABLE spans ADD COLUMN parent int;
COMMENT ON COLUMN spans.parent IS 'The position of the step it is part of; null for the root, and in traces that are older than this column.';
COMMENT ON TABLE spans IS 'The steps of a traced question as a tree; start_ms counts from the beginning of the root.';

CREATE INDEX traces_with_texts ON traces (asked_at) WHERE question IS NOT NULL;
COMMENT ON TABLE traces IS 'A row a question that was asked; texts are null where they were not kept, or not for so long.';

CREATE TABLE trace_upkeep (
    id          int PRIMARY KEY CHECK (id = 1),
    rests_until timestamptz NOT NULL
);
INSERT INTO trace_upkeep VALUES (1, '-infinity');
COMMENT ON TABLE trace_upkeep IS 'One row: until when no old traces are looked for.';
