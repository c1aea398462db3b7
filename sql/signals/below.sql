-- By day (UTC), how many questions had a probability of an answer, and how many one below a bound.
SELECT to_char(day, 'YYYY-MM-DD') AS day, count(*) AS questions,
       count(*) FILTER (WHERE probability < %(bound)s) AS below
FROM question_signals
WHERE day >= %(since)s AND day < %(until)s AND embedding_model = %(embedding_model)s
  AND probability IS NOT NULL
GROUP BY 1
ORDER BY 1;
