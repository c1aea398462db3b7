-- The calibration of an embedding model; one row or none.
SELECT embedding_model, bias, cosine, match, not_covered, weak, questions
FROM calibrations
WHERE embedding_model = %(embedding_model)s;
