-- Counts a failure; too many in a row open the breaker, one of the probe opens it anew. A failure
-- that began before it opened does not keep it open for longer. Returns nothing.
INSERT INTO breakers (route, consecutive_failures, opened_at, last_error, updated_at)
VALUES (%(route)s, 1, CASE WHEN %(threshold)s <= 1 THEN clock_timestamp() END, %(error)s,
        clock_timestamp())
ON CONFLICT (route) DO UPDATE
SET consecutive_failures = breakers.consecutive_failures + 1,
    opened_at = CASE
        WHEN %(is_probe)s THEN clock_timestamp()
        WHEN breakers.opened_at IS NOT NULL THEN breakers.opened_at
        WHEN breakers.consecutive_failures + 1 >= %(threshold)s THEN clock_timestamp()
    END,
    probe_until = CASE WHEN %(is_probe)s THEN NULL ELSE breakers.probe_until END,
    last_error = excluded.last_error,
    updated_at = excluded.updated_at;
