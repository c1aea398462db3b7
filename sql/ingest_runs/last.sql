-- The newest ingest: when it ended and how; no row before the first.
SELECT started_at, finished_at, outcome FROM ingest_runs ORDER BY id DESC LIMIT 1;
