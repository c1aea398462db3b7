-- Questions that the site did not answer well, newest first, at most so many: refused, with a
-- probability of an answer below two bounds (null bounds: unknown), or answered with a statement that
-- its passage does not support. `words` are pairs of a stem and the word, `texts_missing` counts
-- those whose text was not kept.
SELECT u.id, u.question, u.reason, u.pages,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(w.lexemes[1], lower(w.token))), '[]')
        FROM ts_debug('english', left(u.question, 2000)) AS w
        WHERE w.lexemes <> '{}') AS words
FROM (SELECT t.id, t.question,
             CASE WHEN t.refused THEN 'refused'
                  WHEN t.probability < %(not_covered)s::float8 THEN 'not covered'
                  ELSE 'weakly supported' END AS reason,
             ARRAY(SELECT regexp_replace(hit ->> 'ref', '#c[0-9]+$', '')
                   FROM jsonb_array_elements(t.hits) AS hit) AS pages
      FROM traces t
      WHERE t.asked_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
        AND t.asked_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
        AND t.question <> '' AND t.route <> 'catalogue' AND t.error_code IS NULL
        AND (t.refused
             OR (t.embedding_model = %(embedding_model)s AND t.probability < %(weak)s::float8)
             OR t.problems @> '[{"code": "unsupported_claim"}]')
      ORDER BY t.id DESC
      LIMIT %(at_most)s) AS u
ORDER BY u.id DESC;
