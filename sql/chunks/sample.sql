-- Some passages with their vectors, spread over all of them and the same ones every time.
SELECT c.id, c.embedding
FROM (SELECT id FROM chunks ORDER BY md5(id::text), id LIMIT %(at_most)s) AS chosen
JOIN chunks c USING (id);
