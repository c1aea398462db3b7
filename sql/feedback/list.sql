-- What was said of answers, newest first, at most so many, with question, answer and cited places;
-- texts are null where they were not kept.
SELECT f.trace_id, f.good, f.note, f.at, t.question, t.answer,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(c ->> 'url', c ->> 'section')), '[]')
        FROM jsonb_array_elements(t.citations) AS c) AS cited
FROM feedback f
JOIN traces t ON t.id = f.trace_id
ORDER BY f.at DESC, f.trace_id DESC
LIMIT %(at_most)s;
