-- Stands in line; returns the ticket. The row lock makes tickets visible in their order, which is
-- what lets take.sql count those ahead without a lock.
WITH next AS (
    UPDATE generation_queue SET last_ticket = last_ticket + 1 RETURNING last_ticket
)
INSERT INTO generation_slots (ticket, owner, host, pid, queued_at, expires_at)
SELECT last_ticket, %(owner)s, %(host)s, %(pid)s, clock_timestamp(),
       clock_timestamp() + make_interval(secs => %(wait_seconds)s)
FROM next
RETURNING ticket;
