-- How many questions of some days (UTC) were kept without their text; one row.
SELECT count(*) AS questions
FROM traces
WHERE asked_at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'
  AND asked_at < %(until)s::date::timestamp AT TIME ZONE 'UTC'
  AND question IS NULL;
