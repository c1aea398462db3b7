-- Stores the calibration of an embedding model in the place of an earlier one; returns nothing.
INSERT INTO calibrations (embedding_model, bias, cosine, match, not_covered, weak,
                          questions, figures)
VALUES (%(embedding_model)s, %(bias)s, %(cosine)s, %(match)s, %(not_covered)s,
        %(weak)s, %(questions)s, %(figures)s)
ON CONFLICT (embedding_model) DO UPDATE
SET bias = excluded.bias, cosine = excluded.cosine, match = excluded.match,
    not_covered = excluded.not_covered, weak = excluded.weak,
    questions = excluded.questions, figures = excluded.figures, created_at = now();
