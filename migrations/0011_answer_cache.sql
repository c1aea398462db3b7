-- What was computed once and serves again: vectors of questions, and answers while what they were
-- made from stands.
CREATE TABLE question_embeddings (
    embedding_model text COLLATE "C" NOT NULL,
    question_hash   text COLLATE "C" NOT NULL,
    embedding       vector(768) NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_used_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    hits            bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (embedding_model, question_hash)
);
ALTER TABLE question_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX question_embeddings_last_used ON question_embeddings (last_used_at);
COMMENT ON TABLE question_embeddings IS 'The vector of a question, so that it is embedded once; no text of it is kept.';
COMMENT ON COLUMN question_embeddings.embedding_model IS 'Provider, model, digest, prefix of questions and dimensions, parted by bars.';
COMMENT ON COLUMN question_embeddings.question_hash IS 'The sha256 of the question to the character.';

CREATE TABLE answer_cache (
    scope         text COLLATE "C" NOT NULL,
    question_key  text COLLATE "C" NOT NULL,
    question      text NOT NULL,
    answer        jsonb NOT NULL,
    chunk_ids     int[] NOT NULL,
    on_any_change boolean NOT NULL,
    last_chunk_id int NOT NULL,
    passages      bigint NOT NULL,
    embedding     vector(768),
    trace_id      text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_hit_at   timestamptz,
    hits          bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, question_key)
);
COMMENT ON TABLE answer_cache IS 'Answers that may be given again; the view cached_answers tells which of them still may.';
COMMENT ON COLUMN answer_cache.scope IS 'The sha256 of all but the question that decides on an answer: filters, index, prompt, models, settings, program.';
COMMENT ON COLUMN answer_cache.question_key IS 'The sha256 of the question without case, blanks and marks at its end.';
COMMENT ON COLUMN answer_cache.chunk_ids IS 'The passages that were found for it.';
COMMENT ON COLUMN answer_cache.on_any_change IS 'True for refusals and weak evidence: another passage may answer them.';
COMMENT ON COLUMN answer_cache.last_chunk_id IS 'The largest chunks.id when it was asked; with passages, which content there was.';
COMMENT ON COLUMN answer_cache.passages IS 'How many passages there were when it was asked.';

CREATE TABLE cache_counters (
    name       text COLLATE "C" PRIMARY KEY,
    counted    bigint NOT NULL,
    since      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE cache_counters IS 'How often a cache served, and how many entries were dropped for which reason.';

CREATE VIEW cached_answers AS
SELECT a.scope, a.question_key, a.question, a.trace_id, a.created_at, a.last_hit_at, a.hits,
       a.on_any_change,
       CASE WHEN EXISTS (
                SELECT FROM unnest(a.chunk_ids) AS used (id)
                WHERE NOT EXISTS (SELECT FROM chunks c WHERE c.id = used.id)
            ) THEN 'passages changed'
            WHEN a.on_any_change AND (
                SELECT (coalesce(max(c.id), 0), count(*)) FROM chunks c
            ) IS DISTINCT FROM (a.last_chunk_id, a.passages) THEN 'content changed'
       END AS stale
FROM answer_cache a;
COMMENT ON VIEW cached_answers IS 'The answers that are kept; stale is null while what an answer was made from stands.';

ALTER TABLE traces ADD COLUMN cached boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN traces.cached IS 'True where the answer came from answer_cache.';

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
       t.prompt_tokens, t.output_tokens, t.total_ms, t.mode, t.cached
FROM traces t
ORDER BY t.id DESC;
