-- The questions of some days (UTC) whose best passage was farthest away by one embedding model, at
-- most so many a day, by day and then the farthest first; the text is null where it was not kept.
SELECT day, id, question, top_cosine, top_ref
FROM (SELECT to_char(s.day, 'YYYY-MM-DD') AS day, s.id, t.question, s.top_cosine,
             coalesce(t.hits -> 0 ->> 'ref', '') AS top_ref,
             row_number() OVER (PARTITION BY s.day ORDER BY s.top_cosine, s.id) AS place
      FROM question_signals s
      JOIN traces t ON t.id = s.id
      WHERE s.day = ANY(%(days)s::date[]) AND s.embedding_model = %(embedding_model)s
        AND s.top_cosine IS NOT NULL) AS ranked
WHERE place <= %(at_most)s
ORDER BY day, place;
