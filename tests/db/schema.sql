CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
COMMENT ON EXTENSION vector IS 'vector data type and ivfflat and hnsw access methods';
CREATE TABLE public.answer_cache (
    scope text NOT NULL COLLATE pg_catalog."C",
    question_key text NOT NULL COLLATE pg_catalog."C",
    question text NOT NULL,
    answer jsonb NOT NULL,
    chunk_ids integer[] NOT NULL,
    on_any_change boolean NOT NULL,
    last_chunk_id integer NOT NULL,
    passages bigint NOT NULL,
    embedding public.vector(768),
    trace_id text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_hit_at timestamp with time zone,
    hits bigint DEFAULT 0 NOT NULL
);
COMMENT ON TABLE public.answer_cache IS 'Answers that may be given again; the view cached_answers tells which of them still may.';
COMMENT ON COLUMN public.answer_cache.scope IS 'The sha256 of all but the question that decides on an answer: filters, index, prompt, models, settings, program.';
COMMENT ON COLUMN public.answer_cache.question_key IS 'The sha256 of the question without case, blanks and marks at its end.';
COMMENT ON COLUMN public.answer_cache.chunk_ids IS 'The passages that were found for it.';
COMMENT ON COLUMN public.answer_cache.on_any_change IS 'True for refusals and weak evidence: another passage may answer them.';
COMMENT ON COLUMN public.answer_cache.last_chunk_id IS 'The largest chunks.id when it was asked; with passages, which content there was.';
COMMENT ON COLUMN public.answer_cache.passages IS 'How many passages there were when it was asked.';
CREATE TABLE public.traces (
    id text NOT NULL COLLATE pg_catalog."C",
    asked_at timestamp with time zone NOT NULL,
    question text,
    tracks text[] NOT NULL,
    k integer NOT NULL,
    embedding_model text NOT NULL,
    route text NOT NULL,
    template text NOT NULL,
    prompt text,
    answer text,
    finish text NOT NULL,
    refused boolean NOT NULL,
    degraded boolean NOT NULL,
    problems jsonb NOT NULL,
    hits jsonb NOT NULL,
    citations jsonb NOT NULL,
    prompt_tokens bigint,
    output_tokens bigint,
    embed_ms double precision,
    search_ms double precision,
    prefill_ms double precision,
    decode_ms double precision,
    total_ms double precision,
    error_code text,
    error_message text,
    mode text,
    pages text[],
    top_cosine double precision,
    idf_share double precision,
    probability double precision,
    prompt_counted integer,
    cached boolean DEFAULT false NOT NULL,
    queue_ms double precision
);
COMMENT ON TABLE public.traces IS 'A row a question that was asked; texts are null where they were not kept, or not for so long.';
COMMENT ON COLUMN public.traces.id IS 'UUIDv7: sorts by time.';
COMMENT ON COLUMN public.traces.route IS 'Who wrote the answer, provider/model; empty where it did not come to that.';
COMMENT ON COLUMN public.traces.finish IS 'stop, length, repetition, torn; failed where there is no answer.';
COMMENT ON COLUMN public.traces.hits IS 'The passages found: rank, chunk_id, ref, section, score, vector_score, keyword_score, in_prompt, cited.';
COMMENT ON COLUMN public.traces.error_code IS 'Why there is no answer, as in the JSON of errors; null where there is one.';
COMMENT ON COLUMN public.traces.mode IS 'What found passages: hybrid, vector or keyword; null: the list of pages answered, or the trace is older than this column.';
COMMENT ON COLUMN public.traces.pages IS 'The addresses of the pages asked for, empty for all; null: the trace is older than this column.';
COMMENT ON COLUMN public.traces.top_cosine IS 'The largest raw cosine among the passages found; null where the question was not embedded.';
COMMENT ON COLUMN public.traces.idf_share IS 'The share of the question''s idf that the passages found hold, 0 to 1.';
COMMENT ON COLUMN public.traces.probability IS 'How likely the passages found can answer, calibrated; null without a calibration for the model.';
COMMENT ON COLUMN public.traces.prompt_counted IS 'The tokens of the prompt by our own count; prompt_tokens is the server''s.';
COMMENT ON COLUMN public.traces.cached IS 'True where the answer came from answer_cache.';
COMMENT ON COLUMN public.traces.queue_ms IS 'How long the question waited for a free slot, part of total_ms; null where no slot was needed, and in traces older than this column.';
CREATE VIEW public.answer_log AS
 SELECT id,
    asked_at,
    question,
        CASE
            WHEN (error_code IS NOT NULL) THEN ('failed: '::text || error_code)
            WHEN (finish = ANY (ARRAY['torn'::text, 'repetition'::text])) THEN 'incomplete'::text
            WHEN refused THEN 'refused'::text
            WHEN degraded THEN 'extractive'::text
            ELSE 'answered'::text
        END AS outcome,
    answer,
    route,
    embedding_model,
    tracks,
    jsonb_array_length(citations) AS citations,
    jsonb_array_length(problems) AS problems,
    ((hits -> 0) ->> 'ref'::text) AS top_ref,
    (((hits -> 0) ->> 'score'::text))::double precision AS top_score,
    prompt_tokens,
    output_tokens,
    total_ms,
    mode,
    cached
   FROM public.traces t
  ORDER BY id DESC;
COMMENT ON VIEW public.answer_log IS 'A line a question, newest first: what was asked, what came of it, who wrote it, how well it was found.';
CREATE TABLE public.breakers (
    route text NOT NULL COLLATE pg_catalog."C",
    consecutive_failures integer NOT NULL,
    opened_at timestamp with time zone,
    probe_until timestamp with time zone,
    last_error text NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE public.breakers IS 'A row a route that has failed: no row, or no opened_at, means that it may be asked.';
COMMENT ON COLUMN public.breakers.route IS 'Provider, address and model, parted by bars.';
COMMENT ON COLUMN public.breakers.opened_at IS 'Since when it is left alone; null while it may be asked.';
COMMENT ON COLUMN public.breakers.probe_until IS 'Until when one question is trying it; null where none is.';
COMMENT ON COLUMN public.breakers.last_error IS 'What went wrong last, also after it was mended.';
CREATE TABLE public.cache_counters (
    name text NOT NULL COLLATE pg_catalog."C",
    counted bigint NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);
COMMENT ON TABLE public.cache_counters IS 'How often a cache served, and how many entries were dropped for which reason.';
CREATE TABLE public.chunks (
    id integer NOT NULL,
    track text NOT NULL,
    url text NOT NULL,
    section text,
    body text NOT NULL,
    embedding public.vector(768) NOT NULL,
    page_id integer NOT NULL,
    "position" integer NOT NULL,
    ref text NOT NULL,
    anchor text,
    breadcrumb text NOT NULL,
    start_char integer NOT NULL,
    end_char integer NOT NULL,
    content_hash text NOT NULL,
    anchor_lands boolean,
    names text[] DEFAULT '{}'::text[] NOT NULL,
    name_words text DEFAULT ''::text NOT NULL,
    search tsvector GENERATED ALWAYS AS ((to_tsvector('english'::regconfig, translate(((((COALESCE(NULLIF(breadcrumb, ''::text), section, ''::text) || '
'::text) || body) || '
'::text) || name_words), '<>'::text, '  '::text)) || array_to_tsvector(names))) STORED NOT NULL
)
WITH (toast_tuple_target='4080');
ALTER TABLE ONLY public.chunks ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE ONLY public.chunks ALTER COLUMN search SET STORAGE EXTERNAL;
COMMENT ON COLUMN public.chunks.anchor_lands IS 'Whether the anchor opens the section on the built site; null: not checked, or no anchor.';
COMMENT ON COLUMN public.chunks.names IS 'Exact names in the passage, in small letters: as written, and joined without punctuation.';
COMMENT ON COLUMN public.chunks.name_words IS 'The words that compound names are made of, so that they are found by a part.';
COMMENT ON COLUMN public.chunks.search IS 'What keyword search looks in: words by their stem, and names whole.';
CREATE VIEW public.cached_answers AS
 SELECT scope,
    question_key,
    question,
    trace_id,
    created_at,
    last_hit_at,
    hits,
    on_any_change,
        CASE
            WHEN (EXISTS ( SELECT
               FROM unnest(a.chunk_ids) used(id)
              WHERE (NOT (EXISTS ( SELECT
                       FROM public.chunks c
                      WHERE (c.id = used.id)))))) THEN 'passages changed'::text
            WHEN (on_any_change AND (( SELECT ROW(COALESCE(max(c.id), 0), count(*)) AS "row"
               FROM public.chunks c) IS DISTINCT FROM ROW(last_chunk_id, passages))) THEN 'content changed'::text
            ELSE NULL::text
        END AS stale
   FROM public.answer_cache a;
COMMENT ON VIEW public.cached_answers IS 'The answers that are kept; stale is null while what an answer was made from stands.';
CREATE TABLE public.calibrations (
    embedding_model text NOT NULL,
    bias double precision NOT NULL,
    cosine double precision NOT NULL,
    match double precision NOT NULL,
    not_covered double precision NOT NULL,
    weak double precision NOT NULL,
    questions integer NOT NULL,
    figures jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE public.calibrations IS 'How evidence becomes a probability, a row an embedding model, made by `ragctl eval calibrate`; a model without a row has the one that ships, if any.';
CREATE SEQUENCE public.chunks_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.chunks_id_seq OWNED BY public.chunks.id;
CREATE TABLE public.feedback (
    trace_id text NOT NULL COLLATE pg_catalog."C",
    good boolean NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);
COMMENT ON TABLE public.feedback IS 'What somebody said of an answer: a row a question, the last word counts.';
CREATE TABLE public.pages (
    id integer NOT NULL,
    url text NOT NULL,
    track text NOT NULL,
    title text NOT NULL,
    "position" integer DEFAULT 0 NOT NULL,
    sort_number double precision NOT NULL,
    sort_name text NOT NULL,
    source_path text NOT NULL,
    sha256 text NOT NULL,
    parsed_with text NOT NULL,
    text text NOT NULL,
    source_lines integer[] NOT NULL,
    front_matter jsonb NOT NULL,
    is_landing boolean NOT NULL,
    is_draft boolean NOT NULL,
    words integer NOT NULL,
    refused integer DEFAULT 0 NOT NULL,
    size_bytes bigint NOT NULL,
    mtime_ns bigint NOT NULL,
    ingested_at timestamp with time zone DEFAULT now() NOT NULL,
    link_lands boolean
);
COMMENT ON COLUMN public.pages.link_lands IS 'Whether the page is on the built site (site.dist); null: not checked.';
CREATE VIEW public.question_signals AS
 SELECT t.id,
    t.asked_at,
    ((t.asked_at AT TIME ZONE 'UTC'::text))::date AS day,
        CASE
            WHEN (t.error_code = 'stopped'::text) THEN 'stopped'::text
            WHEN (t.error_code IS NOT NULL) THEN 'failed'::text
            WHEN (t.finish = ANY (ARRAY['torn'::text, 'repetition'::text])) THEN 'incomplete'::text
            WHEN t.refused THEN 'refused'::text
            WHEN t.degraded THEN 'extractive'::text
            ELSE 'answered'::text
        END AS outcome,
    t.route,
    t.embedding_model,
    COALESCE(p.track, "substring"(((t.hits -> 0) ->> 'ref'::text), '^/([^/#]+)/'::text), t.tracks[1], ''::text) AS track,
    (EXISTS ( SELECT
           FROM jsonb_array_elements(t.problems) problem(value)
          WHERE ((problem.value ->> 'code'::text) <> ALL (ARRAY['fallback'::text, 'no_route'::text, 'keyword_only'::text, 'passages_dropped'::text])))) AS flagged,
    ((t.problems @> '[{"code": "fallback"}]'::jsonb) OR (t.problems @> '[{"code": "no_route"}]'::jsonb)) AS fell_back,
    t.prompt_tokens,
    t.output_tokens,
    t.embed_ms,
    t.search_ms,
    t.prefill_ms,
    t.decode_ms,
    (((COALESCE(t.embed_ms, (0)::double precision) + COALESCE(t.search_ms, (0)::double precision)) + t.prefill_ms) + t.decode_ms) AS compute_ms,
        CASE
            WHEN ((t.prefill_ms + t.decode_ms) IS NOT NULL) THEN GREATEST(((((t.total_ms - COALESCE(t.embed_ms, (0)::double precision)) - COALESCE(t.search_ms, (0)::double precision)) - t.prefill_ms) - t.decode_ms), (0)::double precision)
            ELSE NULL::double precision
        END AS waiting_ms,
    t.total_ms,
    t.top_cosine,
    t.probability,
    t.cached,
    f.good
   FROM ((public.traces t
     LEFT JOIN public.feedback f ON ((f.trace_id = t.id)))
     LEFT JOIN public.pages p ON ((p.url = regexp_replace(((t.hits -> 0) ->> 'ref'::text), '#c[0-9]+$'::text, ''::text))));
COMMENT ON VIEW public.question_signals IS 'A row a question with what can be counted of it, and no text: day (UTC), outcome, track of the best passage, milliseconds, tokens, evidence, feedback.';
COMMENT ON COLUMN public.question_signals.flagged IS 'The check found something in the answer; a fallback, words alone and a full prompt are no flags.';
COMMENT ON COLUMN public.question_signals.fell_back IS 'Written by a later route, or by none.';
COMMENT ON COLUMN public.question_signals.compute_ms IS 'Embedding, search, prefill and decode; null where the server does not report its own.';
COMMENT ON COLUMN public.question_signals.waiting_ms IS 'What is left of the total without compute_ms: queues, networks, loading.';
CREATE VIEW public.daily_signals AS
 SELECT day,
    count(*) AS questions,
    count(*) FILTER (WHERE (outcome = 'answered'::text)) AS answered,
    count(*) FILTER (WHERE (outcome = 'refused'::text)) AS refused,
    count(*) FILTER (WHERE (outcome = 'extractive'::text)) AS extractive,
    count(*) FILTER (WHERE (outcome = 'incomplete'::text)) AS incomplete,
    count(*) FILTER (WHERE (outcome = 'failed'::text)) AS failed,
    count(*) FILTER (WHERE (outcome = 'stopped'::text)) AS stopped,
    count(*) FILTER (WHERE flagged) AS flagged,
    round(((1000.0 * (count(*) FILTER (WHERE flagged))::numeric) / (NULLIF(count(*) FILTER (WHERE (outcome <> ALL (ARRAY['failed'::text, 'stopped'::text]))), 0))::numeric), 1) AS flagged_per_1000,
    count(*) FILTER (WHERE fell_back) AS fallbacks,
    count(*) FILTER (WHERE cached) AS cached,
    count(*) FILTER (WHERE good) AS good,
    count(*) FILTER (WHERE (NOT good)) AS bad,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY total_ms) FILTER (WHERE (outcome <> ALL (ARRAY['failed'::text, 'stopped'::text]))) AS p50_ms,
    percentile_cont((0.95)::double precision) WITHIN GROUP (ORDER BY total_ms) FILTER (WHERE (outcome <> ALL (ARRAY['failed'::text, 'stopped'::text]))) AS p95_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY compute_ms) AS compute_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY waiting_ms) AS waiting_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY embed_ms) AS embed_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY search_ms) AS search_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY prefill_ms) AS prefill_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY decode_ms) AS decode_ms,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY top_cosine) AS top_cosine,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY probability) AS probability,
    (sum(prompt_tokens))::bigint AS prompt_tokens,
    (sum(output_tokens))::bigint AS output_tokens,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY ((prompt_tokens)::double precision)) AS prompt_tokens_median,
    percentile_cont((0.5)::double precision) WITHIN GROUP (ORDER BY ((output_tokens)::double precision)) AS output_tokens_median
   FROM public.question_signals
  GROUP BY day
  ORDER BY day;
COMMENT ON VIEW public.daily_signals IS 'A row a day (UTC): questions by outcome, flags, fallbacks, feedback, p50 and p95 of the answers, medians of the phases and of the evidence, tokens.';
COMMENT ON COLUMN public.daily_signals.stopped IS 'The reader gave up before the answer was there.';
CREATE TABLE public.embedding_cache (
    embedding_model text NOT NULL,
    content_hash text NOT NULL,
    embedding public.vector NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
)
WITH (toast_tuple_target='4080');
CREATE TABLE public.evaluations (
    id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    file text NOT NULL,
    file_sha256 text NOT NULL,
    label text NOT NULL,
    k integer NOT NULL,
    embedding_model text NOT NULL,
    chunker text NOT NULL,
    chunker_parameters jsonb NOT NULL,
    passages integer NOT NULL,
    program_version text NOT NULL,
    questions integer NOT NULL,
    figures jsonb NOT NULL,
    per_question jsonb NOT NULL
);
COMMENT ON TABLE public.evaluations IS 'A row a run of ragctl eval: which questions, which index, what came of it.';
COMMENT ON COLUMN public.evaluations.id IS 'UUIDv7: sorts by time.';
COMMENT ON COLUMN public.evaluations.at IS 'When the run was finished.';
COMMENT ON COLUMN public.evaluations.kind IS 'What was measured: retrieval, or answers.';
COMMENT ON COLUMN public.evaluations.file IS 'The name of the question file, without its folder.';
COMMENT ON COLUMN public.evaluations.file_sha256 IS 'Of the bytes of the question file: runs are compared where it is the same.';
COMMENT ON COLUMN public.evaluations.label IS 'What was tried: the mode of the search, or the route that wrote the answers.';
COMMENT ON COLUMN public.evaluations.k IS 'How many passages were looked at.';
COMMENT ON COLUMN public.evaluations.embedding_model IS 'The model of the index, provider/model.';
COMMENT ON COLUMN public.evaluations.chunker IS 'What cut the passages of the index, and chunker_parameters how.';
COMMENT ON COLUMN public.evaluations.passages IS 'How many passages the index held.';
COMMENT ON COLUMN public.evaluations.program_version IS 'The version of ragctl that measured.';
COMMENT ON COLUMN public.evaluations.questions IS 'How many questions the file held.';
COMMENT ON COLUMN public.evaluations.figures IS 'The figures of all questions by name: shares from 0 to 1, counts; null where no question counts.';
COMMENT ON COLUMN public.evaluations.per_question IS 'A small object a question: id, then what came of it (retrieval: page_rank, section_rank, missing).';
CREATE TABLE public.generation_queue (
    only_row boolean DEFAULT true NOT NULL,
    last_ticket bigint NOT NULL,
    CONSTRAINT generation_queue_only_row_check CHECK (only_row)
);
COMMENT ON TABLE public.generation_queue IS 'One row: the number of the last ticket. Its lock makes tickets visible in the order of their numbers.';
CREATE TABLE public.generation_slots (
    ticket bigint NOT NULL,
    owner text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL,
    pid integer NOT NULL,
    queued_at timestamp with time zone NOT NULL,
    taken_at timestamp with time zone,
    expires_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE public.generation_slots IS 'A row a question whose answer is being written or that waits for that, in the order of tickets.';
COMMENT ON COLUMN public.generation_slots.taken_at IS 'Since when a model writes; null while the question waits.';
COMMENT ON COLUMN public.generation_slots.expires_at IS 'From then on the row does not count: its process was lost.';
CREATE TABLE public.index_identity (
    only_row boolean DEFAULT true NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    digest text NOT NULL,
    dimensions integer NOT NULL,
    document_prefix text NOT NULL,
    query_prefix text NOT NULL,
    chunker text NOT NULL,
    chunker_parameters jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT index_identity_only_row_check CHECK (only_row)
);
CREATE TABLE public.ingest_lease (
    only_row boolean DEFAULT true NOT NULL,
    owner text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    taken_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT ingest_lease_only_row_check CHECK (only_row)
);
CREATE TABLE public.ingest_runs (
    id integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    outcome text DEFAULT 'running'::text NOT NULL,
    pages integer DEFAULT 0 NOT NULL,
    passages integer DEFAULT 0 NOT NULL,
    embedded integer DEFAULT 0 NOT NULL,
    left_out jsonb DEFAULT '[]'::jsonb NOT NULL
);
ALTER TABLE public.ingest_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.ingest_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE VIEW public.page_summary AS
SELECT
    NULL::text AS track,
    NULL::integer AS "position",
    NULL::text AS url,
    NULL::text AS title,
    NULL::boolean AS is_landing,
    NULL::integer AS words,
    NULL::integer AS passages,
    NULL::text AS source_path,
    NULL::timestamp with time zone AS ingested_at;
COMMENT ON VIEW public.page_summary IS 'A line a page, in reading order: where it is, how long, how many passages.';
ALTER TABLE public.pages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.pages_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.question_embeddings (
    embedding_model text NOT NULL COLLATE pg_catalog."C",
    question_hash text NOT NULL COLLATE pg_catalog."C",
    embedding public.vector(768) NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_used_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    hits bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.question_embeddings ALTER COLUMN embedding SET STORAGE PLAIN;
COMMENT ON TABLE public.question_embeddings IS 'The vector of a question, so that it is embedded once; no text of it is kept.';
COMMENT ON COLUMN public.question_embeddings.embedding_model IS 'Provider, model, digest, prefix of questions and dimensions, parted by bars.';
COMMENT ON COLUMN public.question_embeddings.question_hash IS 'The sha256 of the question to the character.';
CREATE TABLE public.question_rates (
    asker text NOT NULL COLLATE pg_catalog."C",
    tokens double precision NOT NULL,
    may_ask boolean NOT NULL,
    refilled_at timestamp with time zone NOT NULL
);
COMMENT ON TABLE public.question_rates IS 'How many questions each user had left at refilled_at; they come back with time.';
COMMENT ON COLUMN public.question_rates.may_ask IS 'Whether the last question was let through.';
CREATE TABLE public.schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.site (
    only_row boolean DEFAULT true NOT NULL,
    content_root text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT site_only_row_check CHECK (only_row)
);
CREATE TABLE public.spans (
    trace_id text NOT NULL COLLATE pg_catalog."C",
    "position" integer NOT NULL,
    name text NOT NULL,
    start_ms double precision NOT NULL,
    duration_ms double precision NOT NULL,
    attributes jsonb NOT NULL,
    parent integer
);
COMMENT ON TABLE public.spans IS 'The steps of a traced question as a tree; start_ms counts from the beginning of the root.';
COMMENT ON COLUMN public.spans.parent IS 'The position of the step it is part of; null for the root, and in traces that are older than this column.';
CREATE TABLE public.terms (
    term text NOT NULL COLLATE pg_catalog."C",
    chunks integer NOT NULL
);
COMMENT ON TABLE public.terms IS 'In how many passages each word or name of chunks.search occurs, as of the last ingest.';
CREATE TABLE public.terms_counted (
    only_row boolean DEFAULT true NOT NULL,
    chunks integer NOT NULL,
    last_id integer NOT NULL,
    CONSTRAINT terms_counted_only_row_check CHECK (only_row)
);
CREATE TABLE public.trace_upkeep (
    id integer NOT NULL,
    rests_until timestamp with time zone NOT NULL,
    CONSTRAINT trace_upkeep_id_check CHECK ((id = 1))
);
COMMENT ON TABLE public.trace_upkeep IS 'One row: until when no old traces are looked for.';
CREATE TABLE public.vector_index (
    only_row boolean DEFAULT true NOT NULL,
    method text NOT NULL,
    m integer NOT NULL,
    ef_construction integer NOT NULL,
    width integer,
    in_use boolean DEFAULT false NOT NULL,
    measured jsonb,
    measured_at timestamp with time zone,
    measured_rows integer,
    measured_last_id integer,
    measured_model text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT vector_index_check CHECK (((NOT in_use) OR (width IS NOT NULL))),
    CONSTRAINT vector_index_method_check CHECK ((method = 'hnsw'::text)),
    CONSTRAINT vector_index_only_row_check CHECK (only_row)
);
COMMENT ON TABLE public.vector_index IS 'One row where ragctl built an approximate index over chunks.embedding.';
COMMENT ON COLUMN public.vector_index.width IS 'hnsw.ef_search of searches: how many candidates a search keeps; null: none is good enough.';
COMMENT ON COLUMN public.vector_index.measured IS 'Recall against the exact scan: source, questions, k, exact_ms, and width, recall, median_ms of each width.';
COMMENT ON COLUMN public.vector_index.measured_last_id IS 'The highest chunks.id then: with measured_rows it tells how many rows have changed since.';
ALTER TABLE ONLY public.chunks ALTER COLUMN id SET DEFAULT nextval('public.chunks_id_seq'::regclass);
ALTER TABLE ONLY public.answer_cache
    ADD CONSTRAINT answer_cache_pkey PRIMARY KEY (scope, question_key);
ALTER TABLE ONLY public.breakers
    ADD CONSTRAINT breakers_pkey PRIMARY KEY (route);
ALTER TABLE ONLY public.cache_counters
    ADD CONSTRAINT cache_counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.calibrations
    ADD CONSTRAINT calibrations_pkey PRIMARY KEY (embedding_model);
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_ref_key UNIQUE (ref);
ALTER TABLE ONLY public.embedding_cache
    ADD CONSTRAINT embedding_cache_pkey PRIMARY KEY (embedding_model, content_hash);
ALTER TABLE ONLY public.evaluations
    ADD CONSTRAINT evaluations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.feedback
    ADD CONSTRAINT feedback_pkey PRIMARY KEY (trace_id);
ALTER TABLE ONLY public.generation_queue
    ADD CONSTRAINT generation_queue_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.generation_slots
    ADD CONSTRAINT generation_slots_owner_key UNIQUE (owner);
ALTER TABLE ONLY public.generation_slots
    ADD CONSTRAINT generation_slots_pkey PRIMARY KEY (ticket);
ALTER TABLE ONLY public.index_identity
    ADD CONSTRAINT index_identity_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.ingest_lease
    ADD CONSTRAINT ingest_lease_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.ingest_runs
    ADD CONSTRAINT ingest_runs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.pages
    ADD CONSTRAINT pages_url_key UNIQUE (url);
ALTER TABLE ONLY public.question_embeddings
    ADD CONSTRAINT question_embeddings_pkey PRIMARY KEY (embedding_model, question_hash);
ALTER TABLE ONLY public.question_rates
    ADD CONSTRAINT question_rates_pkey PRIMARY KEY (asker);
ALTER TABLE ONLY public.schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.site
    ADD CONSTRAINT site_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.spans
    ADD CONSTRAINT spans_pkey PRIMARY KEY (trace_id, "position");
ALTER TABLE ONLY public.terms_counted
    ADD CONSTRAINT terms_counted_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.terms
    ADD CONSTRAINT terms_pkey PRIMARY KEY (term);
ALTER TABLE ONLY public.trace_upkeep
    ADD CONSTRAINT trace_upkeep_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.traces
    ADD CONSTRAINT traces_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.vector_index
    ADD CONSTRAINT vector_index_pkey PRIMARY KEY (only_row);
CREATE INDEX chunks_page ON public.chunks USING btree (page_id, "position");
CREATE INDEX chunks_search ON public.chunks USING gin (search) WITH (fastupdate=off);
CREATE INDEX chunks_track ON public.chunks USING btree (track);
CREATE INDEX evaluations_at ON public.evaluations USING btree (at);
CREATE INDEX pages_track ON public.pages USING btree (track, "position");
CREATE INDEX question_embeddings_last_used ON public.question_embeddings USING btree (last_used_at);
CREATE INDEX traces_asked_at ON public.traces USING btree (asked_at);
CREATE INDEX traces_with_texts ON public.traces USING btree (asked_at) WHERE (question IS NOT NULL);
CREATE OR REPLACE VIEW public.page_summary AS
 SELECT p.track,
    p."position",
    p.url,
    p.title,
    p.is_landing,
    p.words,
    (count(c.id))::integer AS passages,
    p.source_path,
    p.ingested_at
   FROM (public.pages p
     LEFT JOIN public.chunks c ON ((c.page_id = p.id)))
  GROUP BY p.id
  ORDER BY p.track, p."position";
ALTER TABLE ONLY public.chunks
    ADD CONSTRAINT chunks_page_id_fkey FOREIGN KEY (page_id) REFERENCES public.pages(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.feedback
    ADD CONSTRAINT feedback_trace_id_fkey FOREIGN KEY (trace_id) REFERENCES public.traces(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.spans
    ADD CONSTRAINT spans_trace_id_fkey FOREIGN KEY (trace_id) REFERENCES public.traces(id) ON DELETE CASCADE;
