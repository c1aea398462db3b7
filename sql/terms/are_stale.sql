-- Whether passages came or went since the terms were counted.
SELECT (SELECT count(*) FROM chunks) IS DISTINCT FROM (SELECT chunks FROM terms_counted)
       OR (SELECT coalesce(max(id), 0) FROM chunks) > (SELECT last_id FROM terms_counted) AS stale;
