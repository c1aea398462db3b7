-- Counts something that happened to a cache; returns nothing.
INSERT INTO cache_counters (name, counted) VALUES (%(name)s, %(counted)s)
ON CONFLICT (name) DO UPDATE
SET counted = cache_counters.counted + excluded.counted, updated_at = clock_timestamp();
