-- Returns one row: how many answers were written before a moment.
SELECT count(*) FROM answer_cache WHERE created_at < %(moment)s;
