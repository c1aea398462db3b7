-- What the index was made with; no row before the first ingest.
SELECT provider, model, digest, dimensions, document_prefix, query_prefix, chunker, chunker_parameters
FROM index_identity;
