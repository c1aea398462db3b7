-- Notes that a kept answer served; returns nothing.
UPDATE answer_cache SET hits = hits + 1, last_hit_at = clock_timestamp()
WHERE scope = %(scope)s AND question_key = %(question_key)s;
