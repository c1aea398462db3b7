-- What was asked and what became of it: a row a question, and a row a step on its way.
CREATE TABLE traces (
    id              text COLLATE "C" PRIMARY KEY,
    asked_at        timestamptz NOT NULL,
    question        text,
    tracks          text[] NOT NULL,
    k               int NOT NULL,
    embedding_model text NOT NULL,
    route           text NOT NULL,
    template        text NOT NULL,
    prompt          text,
    answer          text,
    finish          text NOT NULL,
    refused         boolean NOT NULL,
    degraded        boolean NOT NULL,
    problems        jsonb NOT NULL,
    hits            jsonb NOT NULL,
    citations       jsonb NOT NULL,
    prompt_tokens   bigint,
    output_tokens   bigint,
    embed_ms        double precision,
    search_ms       double precision,
    prefill_ms      double precision,
    decode_ms       double precision,
    total_ms        double precision,
    error_code      text,
    error_message   text
);
CREATE INDEX traces_asked_at ON traces (asked_at);
COMMENT ON TABLE traces IS 'A row a question that was asked; texts are null where traces.record is "numbers".';
COMMENT ON COLUMN traces.id IS 'UUIDv7: sorts by time.';
COMMENT ON COLUMN traces.route IS 'Who wrote the answer, provider/model; empty where it did not come to that.';
COMMENT ON COLUMN traces.finish IS 'stop, length, repetition, torn; failed where there is no answer.';
COMMENT ON COLUMN traces.hits IS 'The passages found: rank, chunk_id, ref, section, score, vector_score, keyword_score, in_prompt, cited.';
COMMENT ON COLUMN traces.error_code IS 'Why there is no answer, as in the JSON of errors; null where there is one.';

CREATE TABLE spans (
    trace_id    text COLLATE "C" NOT NULL REFERENCES traces ON DELETE CASCADE,
    position    int NOT NULL,
    name        text NOT NULL,
    start_ms    double precision NOT NULL,
    duration_ms double precision NOT NULL,
    attributes  jsonb NOT NULL,
    PRIMARY KEY (trace_id, position)
);
COMMENT ON TABLE spans IS 'The steps of a traced question, in order; start_ms counts from the beginning of the trace.';

CREATE VIEW answer_log AS
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
       t.prompt_tokens, t.output_tokens, t.total_ms
FROM traces t
ORDER BY t.id DESC;
COMMENT ON VIEW answer_log IS 'A line a question, newest first: what was asked, what came of it, who wrote it, how well it was found.';
