-- Takes the texts out of at most so many of the oldest traces before a moment; returns how many.
WITH worn AS (
    SELECT id FROM traces WHERE question IS NOT NULL AND asked_at < %(before)s
    ORDER BY asked_at
    LIMIT %(at_most)s
), quiet AS (
    UPDATE spans SET attributes = attributes - 'error'
    WHERE trace_id IN (SELECT id FROM worn) AND jsonb_exists(attributes, 'error')
), emptied AS (
    UPDATE traces
    SET question = NULL, prompt = NULL, answer = NULL, error_message = NULL,
        problems = (SELECT coalesce(jsonb_agg(jsonb_set(problem, '{message}', '""') ORDER BY n), '[]')
                    FROM jsonb_array_elements(problems) WITH ORDINALITY AS told (problem, n))
    WHERE id IN (SELECT id FROM worn)
    RETURNING id
)
SELECT count(*) FROM emptied;
