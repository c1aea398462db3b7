-- How many vectors of questions are kept, how often they served, the oldest, their size; one row.
SELECT count(*) AS entries, coalesce(sum(hits), 0)::bigint AS hits, min(created_at) AS oldest,
       pg_total_relation_size('question_embeddings') AS size_bytes
FROM question_embeddings;
