-- How many answers are kept, how many of them may be given again, how often those kept now served,
-- the oldest, their size; one row.
SELECT count(*) AS entries,
       count(*) FILTER (
           WHERE stale IS NULL
             AND created_at > clock_timestamp() - make_interval(secs => %(seconds)s)
       ) AS usable,
       coalesce(sum(hits), 0)::bigint AS hits, min(created_at) AS oldest,
       pg_total_relation_size('answer_cache') AS size_bytes
FROM cached_answers;
