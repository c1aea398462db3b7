-- Which content there is: the largest id of a passage and how many there are. Ids are never used
-- twice, so two contents with both the same are the same. One row.
SELECT coalesce(max(id), 0) AS last_chunk_id, count(*) AS passages FROM chunks;
