-- For this transaction: how many candidates an index search keeps, that it is preferred to reading
-- the whole table, and, where the server can, that it goes on until a filter has its rows. One row.
SELECT set_config('hnsw.ef_search', %(width)s::text, true),
       set_config('enable_seqscan', 'off', true),
       CASE WHEN %(is_iterative)s THEN set_config('hnsw.iterative_scan', 'strict_order', true) END;
