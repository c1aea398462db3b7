-- The vector known for a question, by the hash of its text; at most one row.
SELECT embedding FROM question_embeddings
WHERE embedding_model = %(embedding_model)s AND question_hash = %(question_hash)s
  AND last_used_at > clock_timestamp() - make_interval(days => %(days)s);
