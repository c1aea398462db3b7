-- The traces whose id begins with a prefix, newest first, at most so many; null means all.
SELECT t.id, t.asked_at, t.question, t.tracks, t.k, t.embedding_model, t.route, t.template,
       t.prompt, t.answer, t.finish, t.refused, t.degraded, t.problems, t.hits, t.citations,
       t.prompt_tokens, t.output_tokens, t.embed_ms, t.search_ms, t.prefill_ms, t.decode_ms,
       t.total_ms, t.error_code, t.error_message, t.mode, t.pages, t.top_cosine, t.idf_share,
       t.probability, t.prompt_counted, t.cached,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'name', s.name, 'start_ms', s.start_ms, 'duration_ms', s.duration_ms,
                   'attributes', s.attributes) ORDER BY s.position), '[]')
        FROM spans s WHERE s.trace_id = t.id) AS spans
FROM traces t
WHERE %(prefix)s::text IS NULL OR (t.id >= %(prefix)s AND t.id < %(prefix)s || '~')
ORDER BY t.id DESC
LIMIT %(at_most)s;
