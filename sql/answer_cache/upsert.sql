-- Keeps an answer, in the place of an earlier one to the same question; returns nothing.
INSERT INTO answer_cache (scope, question_key, question, answer, chunk_ids, on_any_change,
                          last_chunk_id, passages, embedding, trace_id)
VALUES (%(scope)s, %(question_key)s, %(question)s, %(answer)s, %(chunk_ids)s, %(on_any_change)s,
        %(last_chunk_id)s, %(passages)s, %(embedding)s, %(trace_id)s)
ON CONFLICT (scope, question_key) DO UPDATE
SET question = excluded.question, answer = excluded.answer, chunk_ids = excluded.chunk_ids,
    on_any_change = excluded.on_any_change, last_chunk_id = excluded.last_chunk_id,
    passages = excluded.passages, embedding = excluded.embedding, trace_id = excluded.trace_id,
    created_at = clock_timestamp(), last_hit_at = NULL, hits = 0;
