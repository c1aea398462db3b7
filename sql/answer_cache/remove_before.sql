-- Drops the answers that were written before a moment; returns one row an answer.
DELETE FROM answer_cache WHERE created_at < %(moment)s RETURNING 1;
