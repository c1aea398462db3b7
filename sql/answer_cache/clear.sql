-- Drops all answers that are kept; returns one row an answer.
DELETE FROM answer_cache RETURNING 1;
