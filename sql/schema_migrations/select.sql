-- The migrations that were applied, oldest first.
SELECT version, name, checksum FROM schema_migrations ORDER BY version;
