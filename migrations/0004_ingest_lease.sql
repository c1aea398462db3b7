-- One ingest at a time: a lease with an owner and an end, kept by the database's clock.
CREATE TABLE ingest_lease (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    owner      text NOT NULL,
    host       text NOT NULL,
    pid        int NOT NULL,
    taken_at   timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
