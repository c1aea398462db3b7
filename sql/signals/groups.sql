-- A row for all questions from one day (UTC) up to another, which is left out, or a row a track, a
-- route or a model that wrote, most questions first. `models` is what routes stand for, by name.
SELECT CASE %(by)s::text WHEN 'track' THEN track
                   WHEN 'route' THEN route
                   WHEN 'model' THEN coalesce(%(models)s::jsonb ->> route, route)
                   ELSE '' END AS key,
       count(*) AS questions,
       count(*) FILTER (WHERE outcome = 'answered') AS answered,
       count(*) FILTER (WHERE outcome = 'refused') AS refused,
       count(*) FILTER (WHERE outcome = 'extractive') AS extractive,
       count(*) FILTER (WHERE outcome = 'incomplete') AS incomplete,
       count(*) FILTER (WHERE outcome = 'failed') AS failed,
       count(*) FILTER (WHERE outcome = 'stopped') AS stopped,
       count(*) FILTER (WHERE flagged) AS flagged,
       count(*) FILTER (WHERE fell_back) AS fallbacks,
       count(*) FILTER (WHERE cached) AS cached,
       count(*) FILTER (WHERE good) AS good,
       count(*) FILTER (WHERE NOT good) AS bad,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY total_ms)
           FILTER (WHERE outcome NOT IN ('failed', 'stopped')) AS p50_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY total_ms)
           FILTER (WHERE outcome NOT IN ('failed', 'stopped')) AS p95_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY compute_ms) AS compute_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY waiting_ms) AS waiting_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY embed_ms) AS embed_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY search_ms) AS search_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY prefill_ms) AS prefill_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY decode_ms) AS decode_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY top_cosine)
           FILTER (WHERE embedding_model = %(embedding_model)s) AS top_cosine,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY probability)
           FILTER (WHERE embedding_model = %(embedding_model)s) AS probability,
       sum(prompt_tokens)::bigint AS prompt_tokens,
       sum(output_tokens)::bigint AS output_tokens,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY prompt_tokens) AS prompt_tokens_median,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY output_tokens) AS output_tokens_median,
       count(top_cosine) FILTER (WHERE embedding_model = %(embedding_model)s) AS embedded
FROM question_signals
WHERE asked_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
  AND asked_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
GROUP BY 1
ORDER BY questions DESC, key;
