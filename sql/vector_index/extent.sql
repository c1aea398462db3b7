-- How many passages there are, how many of them were there at a highest id, and the table's size.
SELECT count(*)::int AS rows, (count(*) FILTER (WHERE id <= %(last_id)s))::int AS kept,
       pg_table_size('chunks') AS table_bytes,
       (SELECT string_to_array(substring(extversion FROM '^[0-9.]+'), '.')::int[] >= '{0,8}'
        FROM pg_extension WHERE extname = 'vector') AS is_iterative
FROM chunks;
