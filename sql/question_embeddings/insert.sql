-- Remembers the vector of one question; returns nothing.
INSERT INTO question_embeddings (embedding_model, question_hash, embedding)
VALUES (%(embedding_model)s, %(question_hash)s, %(embedding)s)
ON CONFLICT (embedding_model, question_hash) DO UPDATE SET last_used_at = clock_timestamp();
