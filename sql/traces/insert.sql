-- Records one trace with its spans; returns nothing.
WITH trace AS (
    INSERT INTO traces (id, asked_at, question, tracks, k, embedding_model, route, template, prompt,
                        answer, finish, refused, degraded, problems, hits, citations,
                        prompt_tokens, output_tokens, embed_ms, search_ms, prefill_ms, decode_ms,
                        total_ms, error_code, error_message, mode, pages,
                        top_cosine, idf_share, probability, prompt_counted, cached,
                        queue_ms)
    VALUES (%(id)s, %(asked_at)s, %(question)s, %(tracks)s, %(k)s, %(embedding_model)s, %(route)s,
            %(template)s, %(prompt)s, %(answer)s, %(finish)s, %(refused)s, %(degraded)s,
            %(problems)s, %(hits)s, %(citations)s, %(prompt_tokens)s, %(output_tokens)s,
            %(embed_ms)s, %(search_ms)s, %(prefill_ms)s, %(decode_ms)s, %(total_ms)s,
            %(error_code)s, %(error_message)s, %(mode)s, %(pages)s,
            %(top_cosine)s, %(idf_share)s, %(probability)s, %(prompt_counted)s, %(cached)s,
            %(queue_ms)s)
)
INSERT INTO spans (trace_id, position, name, start_ms, duration_ms, attributes, parent)
SELECT %(id)s, span.position, span.name, span.start_ms, span.duration_ms, span.attributes,
       span.parent
FROM jsonb_to_recordset(%(spans)s::jsonb)
     AS span (position int, name text, start_ms double precision, duration_ms double precision,
              attributes jsonb, parent int);
