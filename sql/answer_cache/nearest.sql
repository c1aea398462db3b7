-- The answers kept in a scope whose questions come nearest to a vector, nearest first: at most so
-- many, none below a cosine, older than so many seconds, or made from what does not stand.
SELECT near.scope, near.question_key, near.question, near.document, near.trace_id, near.cached_at,
       near.age_seconds, near.cosine
FROM (
    SELECT a.scope, a.question_key, a.question, a.answer AS document, a.trace_id, a.created_at AS cached_at,
           extract(epoch FROM clock_timestamp() - a.created_at)::double precision AS age_seconds,
           1 - (a.embedding <=> %(embedding)s) AS cosine
    FROM answer_cache a
    WHERE a.scope = %(scope)s AND a.embedding IS NOT NULL
      AND a.created_at > clock_timestamp() - make_interval(secs => %(seconds)s)
    OFFSET 0
) near
JOIN cached_answers v USING (scope, question_key)
WHERE near.cosine >= %(at_least)s AND v.stale IS NULL
ORDER BY near.cosine DESC
LIMIT %(at_most)s;
