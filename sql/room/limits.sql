-- For this transaction: wait for others who use a table no longer than this, because those who come
-- later wait behind us.
SELECT set_config('lock_timeout', %(milliseconds)s::int::text, true);
