-- Keyword search: the words and exact names of every passage, and how many passages hold each.
-- Generated columns take immutable functions alone; array_to_string is none, so the words of names
-- have a column of their own. Angle brackets become blanks: the parser drops what it takes for a
-- tag, and after <script> all the rest.
ALTER TABLE chunks
    ADD COLUMN names text[] NOT NULL DEFAULT '{}',
    ADD COLUMN name_words text NOT NULL DEFAULT '',
    ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
        to_tsvector('english'::regconfig,
                    translate(coalesce(nullif(breadcrumb, ''), section, '') || E'\n\n' || body
                              || E'\n\n' || name_words, '<>', '  '))
        || array_to_tsvector(names)
    ) STORED;
-- No list of pending entries: a search right after an ingest would read all of it, a term at a time.
CREATE INDEX chunks_search ON chunks USING gin (search) WITH (fastupdate = off);
COMMENT ON COLUMN chunks.names IS 'Exact names in the passage, in small letters: as written, and joined without punctuation.';
COMMENT ON COLUMN chunks.name_words IS 'The words that compound names are made of, so that they are found by a part.';
COMMENT ON COLUMN chunks.search IS 'What keyword search looks in: words by their stem, and names whole.';

CREATE TABLE terms (
    term   text COLLATE "C" PRIMARY KEY,
    chunks int NOT NULL
);
COMMENT ON TABLE terms IS 'In how many passages each word or name of chunks.search occurs, as of the last ingest.';

-- One row: which passages the table terms was counted over. Ids are never reused, so that a number
-- of passages and a highest id tell whether anything has changed since.
CREATE TABLE terms_counted (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    chunks   int NOT NULL,
    last_id  int NOT NULL
);

INSERT INTO terms (term, chunks) SELECT word, ndoc FROM ts_stat('SELECT search FROM chunks');
INSERT INTO terms_counted (chunks, last_id) SELECT count(*), coalesce(max(id), 0) FROM chunks;
