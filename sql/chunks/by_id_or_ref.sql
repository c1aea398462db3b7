-- The passages that have one of some ids or references today, as found but without rank and score.
SELECT 0 AS n, c.id AS chunk_id, c.ref, c.url, p.title, c.track, c.section,
       CASE WHEN c.anchor_lands IS NOT FALSE THEN c.anchor END AS anchor,
       c.body, c.start_char, c.end_char, p.source_path,
       0::float8 AS score, NULL::float8 AS vector_score
FROM chunks c
JOIN pages p ON p.id = c.page_id
WHERE c.id = ANY (%(ids)s::int[]) OR c.ref = ANY (%(refs)s::text[])
ORDER BY c.id;
