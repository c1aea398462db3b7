-- Closes the record of an ingest; returns nothing.
UPDATE ingest_runs
SET finished_at = now(), outcome = %(outcome)s, pages = %(pages)s, passages = %(passages)s,
    embedded = %(embedded)s, left_out = %(left_out)s
WHERE id = %(id)s;
