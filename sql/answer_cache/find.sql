-- The answer kept for a question in a scope, if it is no older than so many seconds and what it was
-- made from stands; at most one row.
SELECT a.scope, a.question_key, a.question, a.answer AS document, a.trace_id, a.created_at AS cached_at,
       extract(epoch FROM clock_timestamp() - a.created_at)::double precision AS age_seconds
FROM answer_cache a
JOIN cached_answers v USING (scope, question_key)
WHERE a.scope = %(scope)s AND a.question_key = %(question_key)s
  AND a.created_at > clock_timestamp() - make_interval(secs => %(seconds)s)
  AND v.stale IS NULL;
