"""The database: the only importer of psycopg and pgvector."""
