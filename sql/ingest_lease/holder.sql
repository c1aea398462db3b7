-- Who holds the lease, since when, and whether it has run out; no row where it is free.
SELECT owner, host, pid, taken_at, expires_at < clock_timestamp() AS expired FROM ingest_lease;
