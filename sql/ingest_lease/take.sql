-- Takes the lease where it is free, expired, or held by an owner known to be dead; returns a row
-- when it was taken. Setting the key to itself waits for transactions that hold the row.
INSERT INTO ingest_lease (owner, host, pid, expires_at)
VALUES (%(owner)s, %(host)s, %(pid)s, clock_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (only_row) DO UPDATE
SET only_row = excluded.only_row, owner = excluded.owner, host = excluded.host,
    pid = excluded.pid, taken_at = now(), expires_at = excluded.expires_at
WHERE ingest_lease.expires_at < clock_timestamp() OR ingest_lease.owner = %(dead_owner)s
RETURNING owner;
