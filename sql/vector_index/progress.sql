-- How many rows the build of an index by another session has taken in; no row before and after.
SELECT tuples_done
FROM pg_stat_progress_create_index
WHERE pid = %(pid)s;
