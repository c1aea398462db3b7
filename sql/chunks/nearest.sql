-- The k passages nearest to a vector, best first: an exact scan, of some tracks and pages or all.
SELECT row_number() OVER (ORDER BY nearest.distance, c.id)::int AS n, c.id AS chunk_id, c.ref, c.url,
       p.title, c.track, c.section,
       CASE WHEN c.anchor_lands IS NOT FALSE THEN c.anchor END AS anchor,
       c.body, c.start_char, c.end_char, p.source_path,
       1 - nearest.distance AS score, 1 - nearest.distance AS vector_score
FROM (
    -- OFFSET 0 keeps the scan exact where someone added an approximate index, and the distance
    -- is computed once a row; texts are joined for the k rows only.
    SELECT id, distance
    FROM (SELECT id, embedding <=> %(vector)s AS distance
          FROM chunks
          WHERE (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
            AND (%(pages)s::text[] IS NULL OR url = ANY (%(pages)s::text[]))
          OFFSET 0) AS scan
    ORDER BY distance, id
    LIMIT %(k)s
) AS nearest
JOIN chunks c USING (id)
JOIN pages p ON p.id = c.page_id
ORDER BY nearest.distance, c.id;
