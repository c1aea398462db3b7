-- Where it is due, removes at most so many traces that are too old, and the texts of as many; rests
-- for an hour once none is left. Returns a row with both counts where it was due, else none. 0 days
-- mean for ever.
WITH due AS (
    SELECT id FROM trace_upkeep WHERE rests_until <= clock_timestamp()
    FOR UPDATE SKIP LOCKED
), old AS (
    SELECT id FROM traces
    WHERE EXISTS (SELECT FROM due) AND %(keep_days)s::int > 0
      AND asked_at < clock_timestamp() - make_interval(days => %(keep_days)s::int)
    ORDER BY asked_at
    LIMIT %(at_most)s
), removed AS (
    DELETE FROM traces WHERE id IN (SELECT id FROM old) RETURNING id
), worn AS (
    SELECT id FROM traces
    WHERE EXISTS (SELECT FROM due) AND %(keep_text_days)s::int > 0 AND question IS NOT NULL
      AND asked_at < clock_timestamp() - make_interval(days => %(keep_text_days)s::int)
      AND NOT EXISTS (SELECT FROM old WHERE old.id = traces.id)
    ORDER BY asked_at
    LIMIT %(at_most)s
), emptied AS (
    UPDATE traces
    SET question = NULL, prompt = NULL, answer = NULL, error_message = NULL,
        problems = (SELECT coalesce(jsonb_agg(jsonb_set(problem, '{message}', '""') ORDER BY n), '[]')
                    FROM jsonb_array_elements(problems) WITH ORDINALITY AS told (problem, n))
    WHERE id IN (SELECT id FROM worn)
    RETURNING id
), quiet AS (
    UPDATE spans SET attributes = attributes - 'error'
    WHERE trace_id IN (SELECT id FROM worn) AND jsonb_exists(attributes, 'error')
), done AS (
    SELECT (SELECT count(*) FROM removed) AS removed, (SELECT count(*) FROM emptied) AS emptied
)
UPDATE trace_upkeep
SET rests_until = CASE WHEN done.removed + done.emptied = 0
                       THEN clock_timestamp() + interval '1 hour' ELSE rests_until END
FROM done
WHERE trace_upkeep.id IN (SELECT id FROM due)
RETURNING done.removed, done.emptied;
