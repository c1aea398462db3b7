-- The best of some passages by nearness, by words and by both, with its exact rank among all of some
-- tracks or all. Three rows, one a ranking; the passage is null where the ranking has none of them.
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
),
telling AS MATERIALIZED (
    SELECT coalesce(
        string_agg(query::text, ' | ') FILTER (WHERE chunks <= (
            SELECT greatest(%(common_from)s, counted.chunks / %(common_share)s)
            FROM terms_counted AS counted)),
        string_agg(query::text, ' | '))::tsquery AS query
    FROM known
),
scan AS MATERIALIZED (
    -- a materialised scan ranks every passage once and can use no approximate index
    SELECT id, embedding <=> %(vector)s::vector AS distance,
           search @@ (SELECT query FROM telling) AS is_told
    FROM chunks
    WHERE %(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[])
    OFFSET 0
),
worded AS MATERIALIZED (
    SELECT held.id, sum(known.idf * ts_rank(held.search, known.query)) AS score
    FROM (SELECT id, search || '' AS search
          FROM chunks
          WHERE search @@ (SELECT string_agg(query::text, ' | ')::tsquery FROM known)
            AND (%(tracks)s::text[] IS NULL OR track = ANY (%(tracks)s::text[]))
          OFFSET 0) AS held
    CROSS JOIN known
    GROUP BY held.id
),
placed AS MATERIALIZED (
    SELECT scan.id, scan.distance, worded.score AS words,
           row_number() OVER (ORDER BY scan.distance, scan.id) AS by_nearness,
           row_number() OVER (ORDER BY worded.score DESC NULLS LAST, scan.id) AS by_words,
           scan.is_told
    FROM scan
    LEFT JOIN worded USING (id)
),
arms AS MATERIALIZED (
    -- the two arms of hybrid search, as hybrid.sql has them: the k nearest, and of what these or a
    -- telling word bring in the best by words
    SELECT id, distance, words, by_nearness, by_words, is_arm,
           is_arm AND (by_nearness <= %(k)s
                       OR row_number() OVER (PARTITION BY is_arm ORDER BY words DESC NULLS LAST, id)
                          <= %(k)s * %(keyword_depth)s) AS is_reached
    FROM (SELECT *, (by_nearness <= %(k)s AND distance IS NOT NULL) OR is_told IS TRUE AS is_arm
          FROM placed) AS told
),
normed AS (
    SELECT max(words) AS best, max(words) FILTER (WHERE is_arm) AS best_of_arms FROM arms
),
ranked AS MATERIALIZED (
    SELECT 'vector' AS ranking, id, 1 - distance AS score, by_nearness AS rank, is_reached
    FROM arms
    WHERE distance IS NOT NULL
    UNION ALL
    SELECT 'keyword', id, words / nullif(normed.best, 0), by_words, is_reached
    FROM arms
    CROSS JOIN normed
    WHERE words IS NOT NULL
    UNION ALL
    SELECT 'fused', id, score, row_number() OVER (ORDER BY score DESC, id), is_reached
    FROM (SELECT id, is_reached,
                 %(vector_weight)s * (1 - distance)
                 + (1 - %(vector_weight)s)
                   * least(coalesce(words / nullif(normed.best_of_arms, 0), 0), 1) AS score
          FROM arms
          CROSS JOIN normed
          WHERE distance IS NOT NULL) AS both_scores
)
SELECT kind.ranking, best.id AS chunk_id, best.rank::int, best.score, best.is_reached,
       (SELECT count(*)::int FROM ranked WHERE ranked.ranking = kind.ranking) AS among,
       (SELECT score FROM ranked
        WHERE ranked.ranking = kind.ranking AND ranked.rank = %(k)s::int) AS score_at_k,
       (SELECT count(*)::int FROM scan WHERE id = ANY (%(chunk_ids)s::int[])) AS searched,
       (SELECT count(*)::int FROM scan) AS passages
FROM unnest(ARRAY['vector', 'keyword', 'fused']) AS kind (ranking)
LEFT JOIN LATERAL (
    SELECT * FROM ranked
    WHERE ranked.ranking = kind.ranking AND id = ANY (%(chunk_ids)s::int[])
    ORDER BY rank
    LIMIT 1
) AS best ON true;
