-- The embedding model of the newest question that was searched by nearness; no row without one.
SELECT embedding_model
FROM traces
WHERE top_cosine IS NOT NULL
ORDER BY id DESC
LIMIT 1;
