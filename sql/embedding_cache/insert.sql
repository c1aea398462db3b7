-- Remembers the vector of one text; returns nothing.
INSERT INTO embedding_cache (embedding_model, content_hash, embedding)
VALUES (%(embedding_model)s, %(content_hash)s, %(embedding)s)
ON CONFLICT DO NOTHING;
