-- The k best passages for a question by words and names alone, best first, of some tracks and pages
-- or all. One row a passage; keyword_score is the share of the best, vector_score is not known.
WITH asked AS MATERIALIZED (
    SELECT unnest(tsvector_to_array(
        to_tsvector('english', translate(%(question)s, '<>', '  ')))) AS term
    UNION
    SELECT unnest(%(names)s::text[])
),
known AS MATERIALIZED (
    -- a term in quotes, its quotes and backslashes doubled, is a query for just that
    SELECT ln(1 + (greatest((SELECT chunks FROM terms_counted) - t.chunks, 0) + 0.5)
                  / (t.chunks + 0.5))::float8 AS idf,
           ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM asked
    JOIN terms t USING (term)
),
scored AS MATERIALIZED (
    SELECT held.id, sum(known.idf * ts_rank(held.search, known.query)) AS score
    FROM (SELECT id, search || '' AS search
          FROM chunks
          WHERE search @@ (SELECT string_agg(query::text, ' | ')::tsquery FROM known)
            AND (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
            AND (%(pages)s::text[] IS NULL OR url = ANY (%(pages)s::text[]))
          OFFSET 0) AS held
    CROSS JOIN known
    GROUP BY held.id
),
best AS (
    SELECT id, score / nullif(max(score) OVER (), 0) AS score
    FROM scored
    ORDER BY score DESC, id
    LIMIT %(k)s
)
SELECT row_number() OVER (ORDER BY best.score DESC, c.id)::int AS n, c.id AS chunk_id, c.ref, c.url,
       p.title, c.track, c.section,
       CASE WHEN c.anchor_lands IS NOT FALSE THEN c.anchor END AS anchor,
       c.body, c.start_char, c.end_char, p.source_path,
       best.score, NULL::float8 AS vector_score, best.score AS keyword_score
FROM best
JOIN chunks c USING (id)
JOIN pages p ON p.id = c.page_id
ORDER BY best.score DESC, c.id;
