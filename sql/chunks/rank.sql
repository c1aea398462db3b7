-- The nearest to a vector of some passages, and its exact rank among all of some tracks or all.
-- One row; the passage is null where none of them lies in those tracks.
WITH scan AS MATERIALIZED (
    -- a materialised scan ranks every passage once and can use no approximate index
    SELECT id, embedding <=> %(vector)s AS distance
    FROM chunks
    WHERE %(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[])
    OFFSET 0
),
best AS (
    SELECT id, distance FROM scan
    WHERE id = ANY (%(chunk_ids)s::int[])
    ORDER BY distance, id
    LIMIT 1
)
SELECT best.id AS chunk_id,
       1 - best.distance AS score,
       CASE WHEN best.id IS NOT NULL
            THEN 1 + (SELECT count(*)::int FROM scan
                      WHERE (scan.distance, scan.id) < (best.distance, best.id)) END AS rank,
       (SELECT count(*)::int FROM scan) AS among,
       (SELECT 1 - scan.distance FROM scan ORDER BY scan.distance, scan.id
        OFFSET %(k)s::int - 1 LIMIT 1) AS score_at_k
FROM (SELECT 1) AS one
LEFT JOIN best ON true;
