-- Whether a search by the index can go on until a filter has its rows (pgvector 0.8); no row where
-- the index is not there, or where others might be taken in its place.
SELECT (SELECT string_to_array(substring(extversion FROM '^[0-9.]+'), '.')::int[] >= '{0,8}'
        FROM pg_extension WHERE extname = 'vector') AS is_iterative
FROM pg_index ours
WHERE ours.indexrelid = to_regclass('chunks_nearest_hnsw') AND ours.indisvalid
  AND NOT EXISTS (SELECT
                  FROM pg_index other
                  JOIN pg_attribute a ON a.attrelid = other.indrelid AND a.attname = 'embedding'
                  WHERE other.indrelid = ours.indrelid AND other.indexrelid <> ours.indexrelid
                    AND a.attnum = ANY (other.indkey));
