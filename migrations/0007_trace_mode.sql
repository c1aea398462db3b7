-- How passages were found for a question, and which pages were asked for.
ALTER TABLE traces ADD COLUMN mode text, ADD COLUMN pages text[];
COMMENT ON COLUMN traces.mode IS 'What found passages: hybrid, vector or keyword; null: the list of pages answered, or the trace is older than this column.';
COMMENT ON COLUMN traces.pages IS 'The addresses of the pages asked for, empty for all; null: the trace is older than this column.';

CREATE OR REPLACE VIEW answer_log AS
SELECT t.id, t.asked_at, t.question,
       CASE WHEN t.error_code IS NOT NULL THEN 'failed: ' || t.error_code
            WHEN t.finish IN ('torn', 'repetition') THEN 'incomplete'
            WHEN t.refused THEN 'refused'
            WHEN t.degraded THEN 'extractive'
            ELSE 'answered' END AS outcome,
       t.answer, t.route, t.embedding_model, t.tracks,
       jsonb_array_length(t.citations) AS citations,
       jsonb_array_length(t.problems) AS problems,
       t.hits -> 0 ->> 'ref' AS top_ref,
       (t.hits -> 0 ->> 'score')::double precision AS top_score,
       t.prompt_tokens, t.output_tokens, t.total_ms, t.mode
FROM traces t
ORDER BY t.id DESC;
