-- The memory that processes share, the size of the table that the exact scan reads, both in bytes,
-- and whether the file of settings that ragctl writes chose the memory.
SELECT pg_size_bytes(current_setting('shared_buffers')) AS shared_bytes,
       coalesce(pg_relation_size(to_regclass('chunks')), 0) AS table_bytes,
       coalesce((SELECT right(sourcefile, 12) = '/ragctl.conf' FROM pg_settings
                 WHERE name = 'shared_buffers'), false) AS is_ours;
