-- The width of searches by the index, and whether it can go on until a filter has its rows
-- (pgvector 0.8); no row where searches are exact: no index in use, or others that might be taken
-- in its place.
SELECT v.width,
       (SELECT string_to_array(substring(extversion FROM '^[0-9.]+'), '.')::int[] >= '{0,8}'
        FROM pg_extension WHERE extname = 'vector') AS is_iterative
FROM vector_index v
JOIN pg_index ours ON ours.indexrelid = to_regclass('chunks_nearest_hnsw') AND ours.indisvalid
WHERE v.in_use
  AND NOT EXISTS (SELECT
                  FROM pg_index other
                  JOIN pg_attribute a ON a.attrelid = other.indrelid AND a.attname = 'embedding'
                  WHERE other.indrelid = ours.indrelid AND other.indexrelid <> ours.indexrelid
                    AND a.attnum = ANY (other.indkey));
