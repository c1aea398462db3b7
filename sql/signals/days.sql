-- A row a day (UTC) with questions, from one day up to another, which is left out, oldest first;
-- cosine and probability of one embedding model alone, for those of two cannot be compared.
SELECT to_char(d.day, 'YYYY-MM-DD') AS key, d.questions, d.answered, d.refused, d.extractive,
       d.incomplete, d.failed, d.stopped, d.flagged, d.fallbacks, d.cached, d.good, d.bad, d.p50_ms, d.p95_ms,
       d.compute_ms, d.waiting_ms, d.embed_ms, d.search_ms, d.prefill_ms, d.decode_ms,
       e.top_cosine, e.probability, d.prompt_tokens, d.output_tokens, d.prompt_tokens_median,
       d.output_tokens_median, coalesce(e.embedded, 0) AS embedded
FROM daily_signals d
LEFT JOIN (SELECT day, count(top_cosine) AS embedded,
                  percentile_cont(0.5) WITHIN GROUP (ORDER BY top_cosine) AS top_cosine,
                  percentile_cont(0.5) WITHIN GROUP (ORDER BY probability) AS probability
           FROM question_signals
           WHERE day >= %(since)s AND day < %(until)s AND embedding_model = %(embedding_model)s
           GROUP BY day) AS e ON e.day = d.day
WHERE d.day >= %(since)s AND d.day < %(until)s
ORDER BY d.day;
