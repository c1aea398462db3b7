-- Makes pgvector usable in this database; nothing where it is.
CREATE EXTENSION IF NOT EXISTS vector;
