-- The content root that this database holds; no row before the first ingest.
SELECT content_root FROM site;
