-- For passages, each term of a question that they hold: in how many passages it occurs, its weight
-- and what it adds to the keyword score (before the division by the best). One row a passage and term.
WITH asked AS MATERIALIZED (
    SELECT unnest(tsvector_to_array(
        to_tsvector('english', translate(%(question)s, '<>', '  ')))) AS term
    UNION
    SELECT unnest(%(names)s::text[])
),
known AS MATERIALIZED (
    SELECT t.term, t.chunks,
           ln(1 + (greatest((SELECT chunks FROM terms_counted) - t.chunks, 0) + 0.5)
                  / (t.chunks + 0.5))::float8 AS idf,
           ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM asked
    JOIN terms t USING (term)
)
SELECT c.id AS chunk_id, known.term, known.chunks AS passages, known.idf,
       known.idf * ts_rank(c.search, known.query) AS share,
       known.term = ANY (c.names) AS is_name
FROM chunks c
JOIN known ON c.search @@ known.query
WHERE c.id = ANY (%(chunk_ids)s::int[])
ORDER BY c.id, share DESC, known.term;
