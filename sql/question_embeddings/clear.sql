-- Drops all vectors of questions; returns one row a vector.
DELETE FROM question_embeddings RETURNING 1;
