-- A row a route that was tried from one day (UTC) up to another, which is left out: how often, how
-- often it wrote, and how often its breaker kept us away; by name. Traces from before spans had a parent
-- have a span `generate` an attempt.
SELECT s.attributes ->> 'route' AS route, count(*) AS attempts,
       count(*) FILTER (WHERE s.attributes ->> 'outcome' IN ('answered', 'stop', 'length'))
           AS answered,
       count(*) FILTER (WHERE s.attributes ->> 'outcome' = 'breaker open') AS breaker_open
FROM spans s
JOIN traces t ON t.id = s.trace_id
WHERE s.name = CASE WHEN s.parent IS NULL THEN 'generate' ELSE 'attempt' END
  AND t.route <> 'catalogue' AND NOT t.cached AND s.attributes ->> 'route' <> ''
  AND t.asked_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
  AND t.asked_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
GROUP BY 1
ORDER BY 1;
