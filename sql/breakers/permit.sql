-- Whether a route may be asked, whether the caller is its one probe, and the seconds until the
-- next may go; always one row. Taking the probe and looking are one statement: of several callers
-- the row lock lets one be first, and the others see its probe_until.
WITH probe AS (
    UPDATE breakers
    SET probe_until = clock_timestamp() + make_interval(secs => %(probe_seconds)s),
        updated_at = clock_timestamp()
    WHERE route = %(route)s
      AND opened_at <= clock_timestamp() - make_interval(secs => %(open_seconds)s)
      AND (probe_until IS NULL OR probe_until <= clock_timestamp())
    RETURNING route
), closed AS (
    SELECT NOT EXISTS (
        SELECT FROM breakers WHERE route = %(route)s AND opened_at IS NOT NULL
    ) AS is_closed
)
SELECT is_closed OR EXISTS (SELECT FROM probe) AS may_go,
       EXISTS (SELECT FROM probe) AS is_probe,
       CASE WHEN is_closed OR EXISTS (SELECT FROM probe) THEN 0.0
            ELSE coalesce((
                SELECT greatest(0.0, extract(epoch FROM greatest(
                    opened_at + make_interval(secs => %(open_seconds)s), probe_until
                ) - clock_timestamp()))
                FROM breakers WHERE route = %(route)s
            ), 0.0) END::double precision AS seconds_left
FROM closed;
