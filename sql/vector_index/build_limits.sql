-- For this transaction: memory for the whole graph, never less than the server gives and at most
-- 2 GB; a share of the workers where memory cannot be shared. One row.
SELECT set_config('maintenance_work_mem',
                  greatest(setting::bigint,
                           least(2097152, (SELECT count(*) FROM chunks) * (3600 + 44 * %(m)s) / 1000)
                          )::text || 'kB', true),
       CASE WHEN NOT %(parallel)s
            THEN set_config('max_parallel_maintenance_workers', '0', true) END
FROM pg_settings
WHERE name = 'maintenance_work_mem';
