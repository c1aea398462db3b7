-- The passages nearest to a vector, best first, as an approximate index finds them, of some tracks or
-- all: k or fewer, and another may be nearer. The columns are those of nearest.sql.
SELECT row_number() OVER (ORDER BY nearest.distance, c.id)::int AS n, c.id AS chunk_id, c.ref, c.url,
       p.title, c.track, c.section,
       CASE WHEN c.anchor_lands IS NOT FALSE THEN c.anchor END AS anchor,
       c.body, c.start_char, c.end_char, p.source_path,
       1 - nearest.distance AS score, 1 - nearest.distance AS vector_score
FROM (
    -- ordered by the distance alone: that is what the index can do
    SELECT id, embedding <=> %(vector)s AS distance
    FROM chunks
    WHERE %(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[])
    ORDER BY embedding <=> %(vector)s
    LIMIT %(k)s
) AS nearest
JOIN chunks c USING (id)
JOIN pages p ON p.id = c.page_id
ORDER BY nearest.distance, c.id;
