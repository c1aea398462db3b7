-- Opens the record of an ingest; returns its id.
INSERT INTO ingest_runs DEFAULT VALUES RETURNING id;
