-- A row a route that wrote, from one day (UTC) up to another, which is left out: how many answers,
-- how many of them with counted tokens, and those tokens; most answers first.
SELECT route, count(*) AS answers,
       count(*) FILTER (WHERE prompt_tokens IS NOT NULL AND output_tokens IS NOT NULL) AS counted,
       coalesce(sum(prompt_tokens) FILTER (WHERE output_tokens IS NOT NULL), 0)::bigint
           AS prompt_tokens,
       coalesce(sum(output_tokens) FILTER (WHERE prompt_tokens IS NOT NULL), 0)::bigint
           AS output_tokens
FROM traces
WHERE asked_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
  AND asked_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
  AND error_code IS NULL AND NOT cached
GROUP BY route
ORDER BY answers DESC, route;
