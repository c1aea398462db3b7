-- For this transaction: no wait for the disk at its end, and none for others' locks. One row.
SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '200ms', true),
       set_config('statement_timeout', '2s', true);
