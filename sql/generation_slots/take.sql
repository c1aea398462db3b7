-- Takes a slot where fewer rows that count are ahead than may work at once, else keeps the place in
-- line; returns whether it was taken, and how many ahead wait and work. No row: the place was lost.
WITH ahead AS (
    SELECT count(*) AS everyone, count(*) FILTER (WHERE other.taken_at IS NULL) AS waiting
    FROM generation_slots AS mine
    JOIN generation_slots AS other ON other.ticket < mine.ticket
    WHERE mine.owner = %(owner)s AND other.expires_at > clock_timestamp()
)
UPDATE generation_slots
SET taken_at = CASE WHEN ahead.everyone < %(at_once)s THEN clock_timestamp() END,
    expires_at = clock_timestamp() + make_interval(
        secs => (CASE WHEN ahead.everyone < %(at_once)s THEN %(work_seconds)s
                      ELSE %(wait_seconds)s END)::double precision
    )
FROM ahead
WHERE owner = %(owner)s AND expires_at > clock_timestamp()
RETURNING taken_at IS NOT NULL AS is_taken, ahead.waiting,
          ahead.everyone - ahead.waiting AS working;
