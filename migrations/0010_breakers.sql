-- How the routes to an answer fare, shared by every process: failures in a row, and since when a
-- route is left alone.
CREATE TABLE breakers (
    route                text COLLATE "C" PRIMARY KEY,
    consecutive_failures int NOT NULL,
    opened_at            timestamptz,
    probe_until          timestamptz,
    last_error           text NOT NULL,
    updated_at           timestamptz NOT NULL
);
COMMENT ON TABLE breakers IS 'A row a route that has failed: no row, or no opened_at, means that it may be asked.';
COMMENT ON COLUMN breakers.route IS 'Provider, address and model, parted by bars.';
COMMENT ON COLUMN breakers.opened_at IS 'Since when it is left alone; null while it may be asked.';
COMMENT ON COLUMN breakers.probe_until IS 'Until when one question is trying it; null where none is.';
COMMENT ON COLUMN breakers.last_error IS 'What went wrong last, also after it was mended.';
