-- Notes that a known vector served; returns nothing.
UPDATE question_embeddings SET hits = hits + 1, last_used_at = clock_timestamp()
WHERE embedding_model = %(embedding_model)s AND question_hash = %(question_hash)s;
