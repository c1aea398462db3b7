-- Removes at most so many of the oldest traces that were asked before a moment; returns how many.
WITH removed AS (
    DELETE FROM traces
    WHERE id IN (SELECT id FROM traces WHERE asked_at < %(before)s
                 ORDER BY asked_at LIMIT %(at_most)s)
    RETURNING id
)
SELECT count(*) FROM removed;
