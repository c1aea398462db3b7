-- What happened to the caches, how often and since when, by name.
SELECT name, counted, since, updated_at FROM cache_counters ORDER BY name;
