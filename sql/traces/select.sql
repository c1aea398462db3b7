-- The traces that fit, newest first, at most so many: ids that begin with a prefix, asked since a
-- moment, of any of the kinds asked for, older than an id. Null means any.
SELECT t.id, t.asked_at, t.question, t.tracks, t.k, t.embedding_model, t.route, t.template,
       t.prompt, t.answer, t.finish, t.refused, t.degraded, t.problems, t.hits, t.citations,
       t.prompt_tokens, t.output_tokens, t.embed_ms, t.search_ms, t.prefill_ms, t.decode_ms,
       t.total_ms, t.error_code, t.error_message, t.mode, t.pages, t.top_cosine, t.idf_share,
       t.probability, t.prompt_counted, t.cached, t.queue_ms,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                   'name', s.name, 'start_ms', s.start_ms, 'duration_ms', s.duration_ms,
                   'attributes', s.attributes, 'parent', s.parent) ORDER BY s.position), '[]')
        FROM spans s WHERE s.trace_id = t.id) AS spans
FROM traces t
WHERE (%(prefix)s::text IS NULL OR (t.id >= %(prefix)s AND t.id < %(prefix)s || '~'))
  AND (%(since)s::timestamptz IS NULL OR t.asked_at >= %(since)s)
  AND (%(before_id)s::text IS NULL OR t.id < %(before_id)s)
  AND (%(slow_ms)s::float8 IS NULL AND NOT %(flagged)s AND NOT %(refused)s AND NOT %(failed)s
       OR t.total_ms > %(slow_ms)s
       OR %(flagged)s AND t.problems <> '[]'
       OR %(refused)s AND t.refused
       OR %(failed)s AND (t.error_code IS NOT NULL OR t.finish IN ('torn', 'repetition')))
ORDER BY t.id DESC
LIMIT %(at_most)s;
