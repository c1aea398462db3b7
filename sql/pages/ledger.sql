-- A line a page, in reading order: what went into each stage and what came out; one track or all.
SELECT p.id, p.url, p.track, p.title, p.source_path, p.is_landing, p.size_bytes,
       length(p.text) AS characters, p.refused, coalesce(c.stored, 0)::int AS stored
FROM pages p
LEFT JOIN (SELECT page_id, count(*) AS stored FROM chunks GROUP BY page_id) c ON c.page_id = p.id
WHERE %(track)s::text IS NULL OR p.track = %(track)s
ORDER BY p.track = 'root' DESC, p.track, p.position, p.url;
