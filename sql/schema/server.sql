-- What the server is: version number, its encoding, the installed or installable pgvector, and what
-- the role may make; vector_creatable holds where the extension is trusted, too.
SELECT current_setting('server_version_num')::int AS version_number,
       current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding,
       current_database()::text AS database,
       current_user::text AS role,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector_version,
       (SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector') AS vector_schema,
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') AS vector_available,
       to_regtype('vector') IS NOT NULL AS vector_visible,
       coalesce((SELECT has_schema_privilege(extnamespace, 'USAGE') FROM pg_extension
                 WHERE extname = 'vector'), false) AS vector_usable,
       current_setting('is_superuser') = 'on'
           OR (has_database_privilege(current_database(), 'CREATE')
               AND coalesce((SELECT bool_or(trusted) FROM pg_available_extension_versions
                             WHERE name = 'vector'), false)) AS vector_creatable,
       current_schema()::text AS schema,
       coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
       current_setting('transaction_read_only') = 'on' AS is_read_only;
