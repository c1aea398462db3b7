-- Takes one question of a user's: a bucket that holds a minute's worth and fills evenly. Returns
-- whether it was there, and the seconds until the next one is.
INSERT INTO question_rates AS rate (asker, tokens, may_ask, refilled_at)
VALUES (%(asker)s, %(per_minute)s::double precision - 1, true, clock_timestamp())
ON CONFLICT (asker) DO UPDATE
SET (tokens, may_ask, refilled_at) = (
    SELECT CASE WHEN level >= 1 THEN level - 1 ELSE level END, level >= 1, at
    FROM (
        SELECT least(
                   %(per_minute)s::double precision,
                   rate.tokens + %(per_minute)s::double precision / 60
                       * greatest(0.0, extract(epoch FROM at - rate.refilled_at)::double precision)
               ) AS level, at
        FROM (SELECT clock_timestamp() AS at) AS clock
    ) AS filled
)
RETURNING may_ask AS may_go,
          CASE WHEN may_ask THEN 0.0
               ELSE (1 - tokens) * 60 / %(per_minute)s::double precision
          END::double precision AS seconds_left;
