-- Drops a table that a migration made, and what stands on it; the name is put in by the client.
DROP TABLE IF EXISTS {table} CASCADE;
