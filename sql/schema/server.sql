-- What the server is: version number, its encoding, and the installed or installable pgvector.
SELECT current_setting('server_version_num')::int AS version_number,
       current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding,
       current_database()::text AS database,
       current_user::text AS role,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version,
       (SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector') AS vector_schema,
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS vector_available,
       to_regtype('vector') IS NOT NULL AS vector_visible;
