-- How likely the passages found could answer a question, and how that is computed.
CREATE TABLE calibrations (
    embedding_model text PRIMARY KEY,
    bias            double precision NOT NULL,
    cosine          double precision NOT NULL,
    match           double precision NOT NULL,
    not_covered     double precision NOT NULL,
    weak            double precision NOT NULL,
    questions       int NOT NULL,
    figures         jsonb NOT NULL DEFAULT '{}',
    created_at      timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE calibrations IS 'How evidence becomes a probability, a row an embedding model, made by `ragctl eval calibrate`; a model without a row has the one that ships, if any.';

ALTER TABLE traces
    ADD COLUMN top_cosine     double precision,
    ADD COLUMN idf_share      double precision,
    ADD COLUMN probability    double precision,
    ADD COLUMN prompt_counted int;
COMMENT ON COLUMN traces.top_cosine IS 'The largest raw cosine among the passages found; null where the question was not embedded.';
COMMENT ON COLUMN traces.idf_share IS 'The share of the question''s idf that the passages found hold, 0 to 1.';
COMMENT ON COLUMN traces.probability IS 'How likely the passages found can answer, calibrated; null without a calibration for the model.';
COMMENT ON COLUMN traces.prompt_counted IS 'The tokens of the prompt by our own count; prompt_tokens is the server''s.';
