-- The k best passages for a question by nearness and by words together, best first, of some tracks
-- and pages or all. One row a passage; keyword_score is the share of the best keyword score.
WITH known AS MATERIALIZED (
    -- a term in quotes, its quotes and backslashes doubled, is a query for just that; common terms
    -- count but are not telling: they bring nothing in, unless there are no others
    SELECT t.term, t.chunks,
           ln(1 + (greatest(counted.chunks - t.chunks, 0) + 0.5) / (t.chunks + 0.5))::float8 AS idf,
           ('''' || replace(replace(t.term, '\', '\\'), '''', '''''') || '''')::tsquery AS query,
           t.chunks <= greatest(%(common_from)s, counted.chunks / %(common_share)s) AS is_telling
    FROM terms t
    CROSS JOIN (SELECT chunks FROM terms_counted LIMIT 1) AS counted  -- no row is estimated as many
    WHERE t.term = ANY (tsvector_to_array(
        to_tsvector('english', translate(%(question)s, '<>', '  '))) || %(names)s::text[])
),
nearest AS MATERIALIZED (
    -- of all passages, or of those that an index has found in place of the scan
    SELECT id, distance
    FROM (SELECT id, embedding <=> %(vector)s AS distance
          FROM chunks
          WHERE (%(nearest_ids)s::int[] IS NULL OR id = ANY (%(nearest_ids)s::int[]))
            AND (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
            AND (%(pages)s::text[] IS NULL OR url = ANY (%(pages)s::text[]))
          OFFSET 0) AS scan
    ORDER BY distance, id
    LIMIT %(k)s
),
scored AS MATERIALIZED (
    -- concatenating unpacks a long column once, not once a term
    SELECT held.id, sum(known.idf * ts_rank(held.search, known.query)) AS score
    FROM (SELECT id, search || '' AS search
          FROM chunks
          WHERE (search @@ (SELECT coalesce(
                                string_agg(query::text, ' | ') FILTER (WHERE is_telling),
                                string_agg(query::text, ' | '))::tsquery FROM known)
                 OR id = ANY (ARRAY(SELECT id FROM nearest)))
            AND (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
            AND (%(pages)s::text[] IS NULL OR url = ANY (%(pages)s::text[]))
          OFFSET 0) AS held
    CROSS JOIN known
    GROUP BY held.id
),
found AS (
    -- the arms one below the other: planned in half the time that joins of them take
    SELECT id, min(distance) AS distance, max(score) AS score, bool_or(is_named) AS is_named
    FROM (SELECT id, distance, NULL::float8 AS score, false AS is_named FROM nearest
          UNION ALL
          SELECT id, NULL, score, false FROM scored WHERE id = ANY (ARRAY(SELECT id FROM nearest))
          UNION ALL
          (SELECT id, NULL, score, false FROM scored
           ORDER BY score DESC, id LIMIT %(k)s * %(keyword_depth)s)
          UNION ALL
          -- a name that hardly any passage holds: the best of those is among the k in any case
          (SELECT DISTINCT ON (known.term) scored.id, NULL, scored.score, true
           FROM known
           CROSS JOIN LATERAL (
               SELECT id FROM chunks
               WHERE search @@ known.query
                 AND (known.term = ANY (names) OR to_tsvector('english', name_words) @@ known.query)
               OFFSET 0) AS holding
           JOIN scored USING (id)
           WHERE known.chunks <= %(rare)s
           ORDER BY known.term, scored.score DESC, scored.id)) AS arms
    GROUP BY id
),
both_scores AS (
    SELECT found.id, found.is_named,
           1 - coalesce(found.distance, c.embedding <=> %(vector)s) AS vector_score,
           coalesce(found.score / nullif(max(found.score) OVER (), 0), 0) AS keyword_score
    FROM found
    JOIN chunks c USING (id)
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
