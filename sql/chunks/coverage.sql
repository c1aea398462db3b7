-- The terms of a question, names among them where some passage holds them: in how many passages each
-- occurs, its weight, and which of the given passages hold it. One row a term.
WITH asked AS MATERIALIZED (
    SELECT term, bool_or(is_name) AS is_name
    FROM (SELECT unnest(tsvector_to_array(
              to_tsvector('english', translate(%(question)s, '<>', '  ')))) AS term,
                 false AS is_name
          UNION ALL
          SELECT unnest(%(names)s::text[]), true) AS both_kinds
    GROUP BY term
),
weighed AS MATERIALIZED (
    SELECT asked.term, coalesce(t.chunks, 0) AS passages, asked.is_name,
           ln(1 + (greatest((SELECT chunks FROM terms_counted) - coalesce(t.chunks, 0), 0) + 0.5)
                  / (coalesce(t.chunks, 0) + 0.5))::float8 AS idf,
           ('''' || replace(replace(asked.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM asked
    LEFT JOIN terms t USING (term)
    WHERE t.chunks IS NOT NULL OR NOT asked.is_name
)
SELECT term, passages, idf, is_name,
       ARRAY(SELECT c.id FROM chunks c
             WHERE c.id = ANY (%(chunk_ids)s::int[]) AND c.search @@ weighed.query) AS held_by
FROM weighed
ORDER BY idf DESC, term;
