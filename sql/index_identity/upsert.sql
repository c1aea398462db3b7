-- Records what the index is made with; returns nothing.
INSERT INTO index_identity (provider, model, digest, dimensions, document_prefix, query_prefix,
                            chunker, chunker_parameters)
VALUES (%(provider)s, %(model)s, %(digest)s, %(dimensions)s, %(document_prefix)s, %(query_prefix)s,
        %(chunker)s, %(chunker_parameters)s)
ON CONFLICT (only_row) DO UPDATE SET
    provider = excluded.provider, model = excluded.model, digest = excluded.digest,
    dimensions = excluded.dimensions, document_prefix = excluded.document_prefix,
    query_prefix = excluded.query_prefix, chunker = excluded.chunker,
    chunker_parameters = excluded.chunker_parameters, created_at = now();
