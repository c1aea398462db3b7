-- Gives a probe back that came to no end, so that the next question may be one; returns nothing.
UPDATE breakers SET probe_until = NULL, updated_at = clock_timestamp()
WHERE route = %(route)s AND opened_at IS NOT NULL;
