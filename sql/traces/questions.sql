-- Questions that were put to the passages, each wording once, the newest first, at most so many.
SELECT question
FROM traces
WHERE question <> '' AND route <> 'catalogue'
GROUP BY question
ORDER BY max(id) DESC
LIMIT %(at_most)s;
