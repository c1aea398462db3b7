-- What an operator sees: a row a question with what can be counted of it, a row a day; and what
-- readers said of answers.
CREATE TABLE feedback (
    trace_id text COLLATE "C" PRIMARY KEY REFERENCES traces ON DELETE CASCADE,
    good     boolean NOT NULL,
    note     text NOT NULL DEFAULT '',
    at       timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE feedback IS 'What somebody said of an answer: a row a question, the last word counts.';

CREATE VIEW question_signals AS
SELECT t.id, t.asked_at, (t.asked_at AT TIME ZONE 'UTC')::date AS day,
       CASE WHEN t.error_code = 'stopped' THEN 'stopped'
            WHEN t.error_code IS NOT NULL THEN 'failed'
            WHEN t.finish IN ('torn', 'repetition') THEN 'incomplete'
            WHEN t.refused THEN 'refused'
            WHEN t.degraded THEN 'extractive'
            ELSE 'answered' END AS outcome,
       t.route, t.embedding_model, coalesce(p.track, substring(t.hits -> 0 ->> 'ref' FROM '^/([^/#]+)/'), t.tracks[1], '')
           AS track,
       EXISTS (SELECT FROM jsonb_array_elements(t.problems) AS problem
               WHERE problem ->> 'code' NOT IN
                     ('fallback', 'no_route', 'keyword_only', 'passages_dropped')) AS flagged,
       t.problems @> '[{"code": "fallback"}]'
           OR t.problems @> '[{"code": "no_route"}]' AS fell_back,
       t.prompt_tokens, t.output_tokens, t.embed_ms, t.search_ms, t.prefill_ms, t.decode_ms,
       coalesce(t.embed_ms, 0) + coalesce(t.search_ms, 0) + t.prefill_ms + t.decode_ms
           AS compute_ms,
       CASE WHEN t.prefill_ms + t.decode_ms IS NOT NULL  -- greatest() makes 0 of an unknown time
            THEN greatest(t.total_ms - coalesce(t.embed_ms, 0) - coalesce(t.search_ms, 0)
                          - t.prefill_ms - t.decode_ms, 0) END AS waiting_ms,
       t.total_ms, t.top_cosine, t.probability, t.cached, f.good
FROM traces t
LEFT JOIN feedback f ON f.trace_id = t.id
LEFT JOIN pages p ON p.url = regexp_replace(t.hits -> 0 ->> 'ref', '#c[0-9]+$', '');
COMMENT ON VIEW question_signals IS 'A row a question with what can be counted of it, and no text: day (UTC), outcome, track of the best passage, milliseconds, tokens, evidence, feedback.';
COMMENT ON COLUMN question_signals.flagged IS 'The check found something in the answer; a fallback, words alone and a full prompt are no flags.';
COMMENT ON COLUMN question_signals.fell_back IS 'Written by a later route, or by none.';
COMMENT ON COLUMN question_signals.compute_ms IS 'Embedding, search, prefill and decode; null where the server does not report its own.';
COMMENT ON COLUMN question_signals.waiting_ms IS 'What is left of the total without compute_ms: queues, networks, loading.';

CREATE VIEW daily_signals AS
SELECT day,
       count(*) AS questions,
       count(*) FILTER (WHERE outcome = 'answered') AS answered,
       count(*) FILTER (WHERE outcome = 'refused') AS refused,
       count(*) FILTER (WHERE outcome = 'extractive') AS extractive,
       count(*) FILTER (WHERE outcome = 'incomplete') AS incomplete,
       count(*) FILTER (WHERE outcome = 'failed') AS failed,
       count(*) FILTER (WHERE outcome = 'stopped') AS stopped,
       count(*) FILTER (WHERE flagged) AS flagged,
       round(1000.0 * count(*) FILTER (WHERE flagged)
             / nullif(count(*) FILTER (WHERE outcome NOT IN ('failed', 'stopped')), 0), 1)
           AS flagged_per_1000,
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
       percentile_cont(0.5) WITHIN GROUP (ORDER BY top_cosine) AS top_cosine,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY probability) AS probability,
       sum(prompt_tokens)::bigint AS prompt_tokens,
       sum(output_tokens)::bigint AS output_tokens,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY prompt_tokens) AS prompt_tokens_median,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY output_tokens) AS output_tokens_median
FROM question_signals
GROUP BY day
ORDER BY day;
COMMENT ON VIEW daily_signals IS 'A row a day (UTC): questions by outcome, flags, fallbacks, feedback, p50 and p95 of the answers, medians of the phases and of the evidence, tokens.';
COMMENT ON COLUMN daily_signals.stopped IS 'The reader gave up before the answer was there.';
