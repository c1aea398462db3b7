-- What keeps many questions at once from taking everything: a queue in front of the models, and
-- how many questions each user has left.
CREATE TABLE generation_queue (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    last_ticket bigint NOT NULL
);
INSERT INTO generation_queue (last_ticket) VALUES (0);
COMMENT ON TABLE generation_queue IS 'One row: the number of the last ticket. Its lock makes tickets visible in the order of their numbers.';

CREATE TABLE generation_slots (
    ticket     bigint PRIMARY KEY,
    owner      text COLLATE "C" NOT NULL UNIQUE,
    host       text NOT NULL,
    pid        int NOT NULL,
    queued_at  timestamptz NOT NULL,
    taken_at   timestamptz,
    expires_at timestamptz NOT NULL
);
COMMENT ON TABLE generation_slots IS 'A row a question whose answer is being written or that waits for that, in the order of tickets.';
COMMENT ON COLUMN generation_slots.taken_at IS 'Since when a model writes; null while the question waits.';
COMMENT ON COLUMN generation_slots.expires_at IS 'From then on the row does not count: its process was lost.';

CREATE TABLE question_rates (
    asker       text COLLATE "C" PRIMARY KEY,
    tokens      double precision NOT NULL,
    may_ask     boolean NOT NULL,
    refilled_at timestamptz NOT NULL
);
COMMENT ON TABLE question_rates IS 'How many questions each user had left at refilled_at; they come back with time.';
COMMENT ON COLUMN question_rates.may_ask IS 'Whether the last question was let through.';

ALTER TABLE traces ADD COLUMN queue_ms double precision;
COMMENT ON COLUMN traces.queue_ms IS 'How long the question waited for a free slot, part of total_ms; null where no slot was needed, and in traces older than this column.';
