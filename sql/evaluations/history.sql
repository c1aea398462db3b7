-- Runs of a kind and of a file, or of all, newest first, at most so many, each with the run before
-- it of the same questions, kind, label and k (null where there is none).
SELECT run.id, run.at, run.kind, run.file, run.file_sha256, run.label, run.k, run.embedding_model,
       run.chunker, run.chunker_parameters, run.passages, run.program_version, run.questions,
       run.figures, run.before
FROM (SELECT e.*, lag(to_jsonb(e) - 'per_question')
                      OVER (PARTITION BY file_sha256, kind, label, k ORDER BY at, id) AS before
      FROM evaluations e) AS run
WHERE (%(kind)s::text IS NULL OR run.kind = %(kind)s)
  AND (%(file)s::text IS NULL OR run.file = %(file)s)
ORDER BY run.at DESC, run.id DESC
LIMIT %(at_most)s;
