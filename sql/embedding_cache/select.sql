-- The vectors known for these texts, by the hash of the text.
SELECT content_hash, embedding FROM embedding_cache
WHERE embedding_model = %(embedding_model)s AND content_hash = ANY (%(content_hashes)s);
