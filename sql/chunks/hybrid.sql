-- The k best passages for a question by nearness and by words together, best first, of some tracks
-- and pages or all. One row a passage; keyword_score is the share of the best keyword score.
WITH asked AS MATERIALIZED (
    SELECT unnest(tsvector_to_array(
        to_tsvector('english', translate(%(question)s, '<>', '  ')))) AS term
    UNION
    SELECT unnest(%(names)s::text[])
),
known AS MATERIALIZED (
    -- a term in quotes, its quotes and backslashes doubled, is a query for just that
    SELECT t.term, t.chunks,
           ln(1 + (greatest((SELECT chunks FROM terms_counted) - t.chunks, 0) + 0.5)
                  / (t.chunks + 0.5))::float8 AS idf,
           ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query
    FROM asked
    JOIN terms t USING (term)
),
nearest AS MATERIALIZED (
    (SELECT id, distance
    FROM (SELECT id, embedding <=> %(vector)s AS distance
          FROM chunks
          WHERE %(nearest_ids)s::int[] IS NULL
            AND (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
            AND (%(pages)s::text[] IS NULL OR url = ANY (%(pages)s::text[]))
          OFFSET 0) AS scan
    ORDER BY distance, id
    LIMIT %(k)s)
    UNION ALL
    -- what an index has found in place of the scan; null where there is none in use
    SELECT id, NULL FROM unnest(%(nearest_ids)s::int[]) AS given (id)
),
telling AS MATERIALIZED (
    -- common terms count but bring nothing in, unless there are no others
    SELECT coalesce(
        string_agg(query::text, ' | ') FILTER (WHERE chunks <= (
            SELECT greatest(%(common_from)s, counted.chunks / %(common_share)s)
            FROM terms_counted AS counted)),
        string_agg(query::text, ' | '))::tsquery AS query
    FROM known
),
scored AS MATERIALIZED (
    -- concatenating unpacks a long column once, not once a term
    SELECT held.id, sum(known.idf * ts_rank(held.search, known.query)) AS score
    FROM (SELECT id, search || '' AS search
          FROM chunks
          WHERE search @@ (SELECT query FROM telling)
            AND (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
            AND (%(pages)s::text[] IS NULL OR url = ANY (%(pages)s::text[]))
          UNION ALL
          SELECT c.id, c.search || ''
          FROM nearest
          JOIN chunks c USING (id)
          WHERE (c.search @@ (SELECT query FROM telling)) IS NOT TRUE
          OFFSET 0) AS held
    CROSS JOIN known
    GROUP BY held.id
),
worded AS MATERIALIZED (
    SELECT id FROM scored ORDER BY score DESC, id LIMIT %(k)s * %(keyword_depth)s
),
named AS MATERIALIZED (
    -- a name that hardly any passage holds: the best of those is among the k in any case
    SELECT DISTINCT ON (known.term) scored.id
    FROM known
    CROSS JOIN LATERAL (
        SELECT id FROM chunks
        WHERE search @@ known.query
          AND (known.term = ANY (names) OR to_tsvector('english', name_words) @@ known.query)
        OFFSET 0) AS holding
    JOIN scored USING (id)
    WHERE known.chunks <= %(rare)s
    ORDER BY known.term, scored.score DESC, scored.id
),
both_scores AS (
    SELECT found.id, named.id IS NOT NULL AS is_named,
           1 - coalesce(nearest.distance, c.embedding <=> %(vector)s) AS vector_score,
           coalesce(scored.score / nullif(best.score, 0), 0) AS keyword_score
    FROM (SELECT id FROM nearest UNION SELECT id FROM worded UNION SELECT id FROM named) AS found
    JOIN chunks c USING (id)
    LEFT JOIN nearest USING (id)
    LEFT JOIN scored USING (id)
    LEFT JOIN (SELECT DISTINCT id FROM named) AS named USING (id)
    CROSS JOIN (SELECT max(score) AS score FROM scored) AS best
),
best AS (
    SELECT *, %(vector_weight)s * vector_score + (1 - %(vector_weight)s) * keyword_score AS score
    FROM both_scores
    ORDER BY is_named DESC, score DESC, id
    LIMIT %(k)s
)
SELECT row_number() OVER (ORDER BY best.score DESC, c.id)::int AS n, c.id AS chunk_id, c.ref, c.url,
       p.title, c.track, c.section,
       CASE WHEN c.anchor_lands IS NOT FALSE THEN c.anchor END AS anchor,
       c.body, c.start_char, c.end_char, p.source_path,
       best.score, best.vector_score, best.keyword_score, best.is_named AS named
FROM best
JOIN chunks c USING (id)
JOIN pages p ON p.id = c.page_id
ORDER BY best.score DESC, c.id;
