-- Remembers the vectors of texts, those already known as they are; returns nothing.
INSERT INTO embedding_cache (embedding_model, content_hash, embedding)
SELECT %(embedding_model)s, given.content_hash, given.embedding
FROM unnest(%(content_hashes)s::text[], %(embeddings)b::vector[]) AS given (content_hash, embedding)
ON CONFLICT DO NOTHING;
