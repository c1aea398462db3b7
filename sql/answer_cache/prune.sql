-- Drops answers that may not be given again (made from what does not stand, too old, or beyond so
-- many, least lately used first) and counts them by reason; rows that others are at are left to
-- them. Returns nothing.
WITH ranked AS (
    SELECT scope, question_key, stale, created_at,
           row_number() OVER (ORDER BY coalesce(last_hit_at, created_at) DESC) AS place
    FROM cached_answers
), doomed AS (
    SELECT a.scope, a.question_key,
           CASE WHEN r.stale IS NOT NULL THEN r.stale
                WHEN r.place > %(at_most)s THEN 'too many'
                ELSE 'too old' END AS reason
    FROM answer_cache a
    JOIN ranked r USING (scope, question_key)
    WHERE r.stale IS NOT NULL OR r.place > %(at_most)s
       OR r.created_at <= clock_timestamp() - make_interval(secs => %(seconds)s)
    FOR UPDATE OF a SKIP LOCKED
), gone AS (
    DELETE FROM answer_cache a USING doomed d
    WHERE a.scope = d.scope AND a.question_key = d.question_key
    RETURNING d.reason
)
INSERT INTO cache_counters (name, counted)
SELECT 'answers dropped: ' || reason, count(*) FROM gone GROUP BY reason ORDER BY reason
ON CONFLICT (name) DO UPDATE
SET counted = cache_counters.counted + excluded.counted, updated_at = clock_timestamp();
