-- What was measured: a row a run over a file of questions, so that figures can be followed in time.
CREATE TABLE evaluations (
    id                 text COLLATE "C" PRIMARY KEY,
    at                 timestamptz NOT NULL,
    kind               text NOT NULL,
    file               text NOT NULL,
    file_sha256        text NOT NULL,
    label              text NOT NULL,
    k                  int NOT NULL,
    embedding_model    text NOT NULL,
    chunker            text NOT NULL,
    chunker_parameters jsonb NOT NULL,
    passages           int NOT NULL,
    program_version    text NOT NULL,
    questions          int NOT NULL,
    figures            jsonb NOT NULL,
    per_question       jsonb NOT NULL
);
CREATE INDEX evaluations_at ON evaluations (at);
COMMENT ON TABLE evaluations IS 'A row a run of ragctl eval: which questions, which index, what came of it.';
COMMENT ON COLUMN evaluations.id IS 'UUIDv7: sorts by time.';
COMMENT ON COLUMN evaluations.at IS 'When the run was finished.';
COMMENT ON COLUMN evaluations.kind IS 'What was measured: retrieval, or answers.';
COMMENT ON COLUMN evaluations.file IS 'The name of the question file, without its folder.';
COMMENT ON COLUMN evaluations.file_sha256 IS 'Of the bytes of the question file: runs are compared where it is the same.';
COMMENT ON COLUMN evaluations.label IS 'What was tried: the mode of the search, or the route that wrote the answers.';
COMMENT ON COLUMN evaluations.k IS 'How many passages were looked at.';
COMMENT ON COLUMN evaluations.embedding_model IS 'The model of the index, provider/model.';
COMMENT ON COLUMN evaluations.chunker IS 'What cut the passages of the index, and chunker_parameters how.';
COMMENT ON COLUMN evaluations.passages IS 'How many passages the index held.';
COMMENT ON COLUMN evaluations.program_version IS 'The version of ragctl that measured.';
COMMENT ON COLUMN evaluations.questions IS 'How many questions the file held.';
COMMENT ON COLUMN evaluations.figures IS 'The figures of all questions by name: shares from 0 to 1, counts; null where no question counts.';
COMMENT ON COLUMN evaluations.per_question IS 'A small object a question: id, then what came of it (retrieval: page_rank, section_rank, missing).';
