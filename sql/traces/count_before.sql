-- How many traces were asked before a moment, and how many of them hold texts; one row.
SELECT count(*) AS traces, count(question) AS with_texts
FROM traces
WHERE asked_at < %(before)s;
