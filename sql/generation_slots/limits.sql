-- For this transaction: no wait for the disk at its end, and none for long on others. One row.
SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '5s', true),
       set_config('statement_timeout', '10s', true);
