-- Puts the end of a lease off; returns a row while it is still held.
UPDATE ingest_lease SET expires_at = clock_timestamp() + make_interval(secs => %(seconds)s)
WHERE owner = %(owner)s
RETURNING owner;
