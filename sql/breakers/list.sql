-- Every route that has failed once: failures in a row, seconds since its breaker opened and until
-- the next probe, whether one is trying it, the last error.
SELECT route, consecutive_failures AS failures,
       extract(epoch FROM clock_timestamp() - opened_at)::double precision AS seconds_open,
       coalesce(greatest(0.0, extract(epoch FROM
           opened_at + make_interval(secs => %(open_seconds)s) - clock_timestamp()
       )), 0.0)::double precision AS seconds_left,
       coalesce(probe_until > clock_timestamp(), false) AS is_probing,
       last_error, updated_at
FROM breakers
ORDER BY route;
