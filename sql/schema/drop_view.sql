-- Drops a view that a migration made, and what stands on it; the name is put in by the client.
DROP VIEW IF EXISTS {table} CASCADE;
