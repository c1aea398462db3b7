-- Counts anew in how many passages each term occurs, touching only what changed; returns nothing.
WITH counted AS MATERIALIZED (
    SELECT word AS term, ndoc AS chunks FROM ts_stat('SELECT search FROM chunks')
),
gone AS (
    DELETE FROM terms WHERE NOT EXISTS (SELECT FROM counted WHERE counted.term = terms.term)
),
total AS (
    INSERT INTO terms_counted (chunks, last_id) SELECT count(*), coalesce(max(id), 0) FROM chunks
    ON CONFLICT (only_row) DO UPDATE SET chunks = excluded.chunks, last_id = excluded.last_id
)
INSERT INTO terms (term, chunks)
SELECT counted.term, counted.chunks
FROM counted
LEFT JOIN terms USING (term)
WHERE terms.chunks IS DISTINCT FROM counted.chunks
ON CONFLICT (term) DO UPDATE SET chunks = excluded.chunks;
