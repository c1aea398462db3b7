-- What one site's database holds, in one row; nulls where nothing was ingested.
SELECT (SELECT content_root FROM site) AS content_root,
       (SELECT count(*) FROM pages WHERE NOT is_landing)::int AS pages,
       (SELECT count(*) FROM chunks)::int AS passages,
       (SELECT provider || '/' || model FROM index_identity) AS model,
       (SELECT max(finished_at) FROM ingest_runs WHERE outcome IN ('done', 'findings')) AS ingested_at;
