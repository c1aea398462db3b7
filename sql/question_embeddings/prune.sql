-- Drops vectors that were not used for so many days and those beyond so many, least lately used
-- first, and counts them; rows that others are at are left to them. Returns nothing.
WITH doomed AS (
    SELECT embedding_model, question_hash FROM question_embeddings
    WHERE last_used_at <= greatest(
        clock_timestamp() - make_interval(days => %(days)s),
        (SELECT last_used_at FROM question_embeddings
         ORDER BY last_used_at DESC OFFSET %(at_most)s LIMIT 1)
    )
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM question_embeddings q USING doomed d
    WHERE q.embedding_model = d.embedding_model AND q.question_hash = d.question_hash
    RETURNING 1
)
INSERT INTO cache_counters (name, counted)
SELECT 'vectors dropped', count(*) FROM gone HAVING count(*) > 0
ON CONFLICT (name) DO UPDATE
SET counted = cache_counters.counted + excluded.counted, updated_at = clock_timestamp();
