-- Notes what was measured with the index, over which rows, and the width that searches use; without
-- a width they do not use it. Returns a row where there is an index.
UPDATE vector_index
SET measured = %(measured)s, measured_at = now(), measured_model = %(model)s,
    measured_rows = now_there.rows, measured_last_id = now_there.last_id,
    width = %(width)s, in_use = %(width)s::int IS NOT NULL
FROM (SELECT count(*)::int AS rows, coalesce(max(id), 0) AS last_id FROM chunks) AS now_there
RETURNING method;
