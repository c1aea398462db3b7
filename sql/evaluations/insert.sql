-- Records one run with what came of each question; returns nothing.
INSERT INTO evaluations (id, at, kind, file, file_sha256, label, k, embedding_model, chunker,
                         chunker_parameters, passages, program_version, questions, figures,
                         per_question)
VALUES (%(id)s, %(at)s, %(kind)s, %(file)s, %(file_sha256)s, %(label)s, %(k)s,
        %(embedding_model)s, %(chunker)s, %(chunker_parameters)s, %(passages)s,
        %(program_version)s, %(questions)s, %(figures)s, %(per_question)s);
