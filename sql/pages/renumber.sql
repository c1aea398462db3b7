-- Numbers the pages of each track in reading order from 1, landing pages 0; touches only what moves.
UPDATE pages SET position = ordered.position
FROM (SELECT id, CASE WHEN is_landing THEN 0 ELSE row_number() OVER (
          PARTITION BY track, is_landing ORDER BY sort_number, sort_name, url)::int END AS position
      FROM pages) AS ordered
WHERE pages.id = ordered.id AND pages.position <> ordered.position;
