-- The vectors of one page's passages, by the hash of the text that was embedded.
SELECT c.content_hash, c.embedding
FROM chunks c
JOIN pages p ON p.id = c.page_id
WHERE p.url = %(url)s;
