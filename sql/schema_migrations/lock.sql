-- Lets one process at a time migrate; held until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('ragctl schema_migrations', 0));
