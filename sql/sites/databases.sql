-- The databases of sites on the embedded server: name and size on disk in bytes.
SELECT datname::text AS name, pg_database_size(oid) AS size_bytes
FROM pg_database WHERE starts_with(datname, 'ragctl_') ORDER BY datname;
