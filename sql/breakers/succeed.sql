-- Closes the breaker of a route that answered; returns nothing. A healthy route is not written to.
UPDATE breakers
SET consecutive_failures = 0, opened_at = NULL, probe_until = NULL,
    updated_at = clock_timestamp()
WHERE route = %(route)s AND (consecutive_failures > 0 OR opened_at IS NOT NULL);
