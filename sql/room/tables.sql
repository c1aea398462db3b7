-- The tables that shrink when they are rewritten: their rows as last counted, what they take and
-- what these rows would need at least, in bytes; null where the server has not counted them yet.
WITH kept AS (
    SELECT c.oid, c.relname, c.relnamespace, c.relowner, c.relnatts, c.reltuples
    FROM pg_class c
    JOIN unnest(%(tables)s::text[]) AS named (name) ON c.oid = to_regclass(named.name)
), widths AS (
    -- A row has a header of 24 bytes, or 32 where a map of nulls is long, and begins at a multiple
    -- of 8; 4 more bytes point to it. What lies out of line counts as the pointer that is in line.
    SELECT k.oid,
           4 + 8 * ceil((24 + CASE WHEN k.relnatts > 8 AND max(s.null_frac) > 0 THEN 8 ELSE 0 END
                         + sum((1 - s.null_frac) * s.avg_width)) / 8) AS row_bytes
    FROM kept k
    JOIN pg_stats s ON s.tablename = k.relname AND s.schemaname = k.relnamespace::regnamespace::text
    GROUP BY k.oid, k.relnatts
)
SELECT k.relname::text AS name,
       CASE WHEN w.oid IS NOT NULL AND k.reltuples >= 0 THEN k.reltuples::bigint END AS rows,
       pg_relation_size(k.oid) AS heap_bytes,
       CASE WHEN w.oid IS NOT NULL AND k.reltuples >= 0
            THEN (ceil(k.reltuples / greatest(1, floor(8168 / w.row_bytes))) * 8192)::bigint
            END AS needed_bytes,
       pg_total_relation_size(k.oid) AS total_bytes,
       pg_has_role(k.relowner, 'USAGE') AS is_owned,
       CASE k.relname
       WHEN 'chunks' THEN 'chunks_track'
       ELSE (SELECT o.relname FROM pg_index i JOIN pg_class o ON o.oid = i.indexrelid
             WHERE i.indrelid = k.oid AND i.indisprimary)::text
       END AS ordered_by
FROM kept k
LEFT JOIN widths w USING (oid)
ORDER BY k.relname;
