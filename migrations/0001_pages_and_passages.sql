-- Pages, passages with their vectors, and what is known about how they were made.
CREATE EXTENSION IF NOT EXISTS vector;

-- One row: the content root that this database holds.
CREATE TABLE site (
    only_row     boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    content_root text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);

-- One row: what the vectors and passages were made with.
CREATE TABLE index_identity (
    only_row           boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    provider           text NOT NULL,
    model              text NOT NULL,
    digest             text NOT NULL,
    dimensions         int NOT NULL,
    document_prefix    text NOT NULL,
    query_prefix       text NOT NULL,
    chunker            text NOT NULL,
    chunker_parameters jsonb NOT NULL,
    created_at         timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pages (
    id           int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    url          text NOT NULL UNIQUE,
    track        text NOT NULL,
    title        text NOT NULL,
    position     int NOT NULL DEFAULT 0,
    sort_number  double precision NOT NULL,
    sort_name    text NOT NULL,
    source_path  text NOT NULL,
    sha256       text NOT NULL,
    parsed_with  text NOT NULL,
    text         text NOT NULL,
    source_lines int[] NOT NULL,
    front_matter jsonb NOT NULL,
    is_landing   boolean NOT NULL,
    is_draft     boolean NOT NULL,
    words        int NOT NULL,
    refused      int NOT NULL DEFAULT 0,
    size_bytes   bigint NOT NULL,
    mtime_ns     bigint NOT NULL,
    ingested_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX pages_track ON pages (track, position);

CREATE SEQUENCE chunks_id_seq AS int;
CREATE TABLE chunks (
    id           int PRIMARY KEY DEFAULT nextval('chunks_id_seq'),
    track        text NOT NULL,
    url          text NOT NULL,
    section      text,
    body         text NOT NULL,
    embedding    vector(768) NOT NULL,
    page_id      int NOT NULL REFERENCES pages ON DELETE CASCADE,
    position     int NOT NULL,
    ref          text NOT NULL UNIQUE,
    anchor       text,
    breadcrumb   text NOT NULL,
    start_char   int NOT NULL,
    end_char     int NOT NULL,
    content_hash text NOT NULL
);
ALTER SEQUENCE chunks_id_seq OWNED BY chunks.id;
-- In line, so that the exact scan reads the table in order and never follows a TOAST pointer.
ALTER TABLE chunks ALTER COLUMN embedding SET STORAGE PLAIN;
CREATE INDEX chunks_track ON chunks (track);
CREATE INDEX chunks_page ON chunks (page_id, position);

-- Vectors by the text they were made from: no text is embedded twice by the same model.
CREATE TABLE embedding_cache (
    embedding_model text NOT NULL,
    content_hash    text NOT NULL,
    embedding       vector NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (embedding_model, content_hash)
);

CREATE TABLE ingest_runs (
    id          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at  timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    outcome     text NOT NULL DEFAULT 'running',
    pages       int NOT NULL DEFAULT 0,
    passages    int NOT NULL DEFAULT 0,
    embedded    int NOT NULL DEFAULT 0,
    left_out    jsonb NOT NULL DEFAULT '[]'
);

CREATE VIEW page_summary AS
SELECT p.track, p.position, p.url, p.title, p.is_landing, p.words,
       count(c.id)::int AS passages, p.source_path, p.ingested_at
FROM pages p
LEFT JOIN chunks c ON c.page_id = p.id
GROUP BY p.id
ORDER BY p.track, p.position;
COMMENT ON VIEW page_summary IS 'A line a page, in reading order: where it is, how long, how many passages.';
