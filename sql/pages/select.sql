-- Every page with the number of its passages, in reading order; one track or all.
SELECT p.id, p.url, p.track, p.title, p.position, p.source_path, p.sha256, p.parsed_with, p.is_landing, p.is_draft,
       p.size_bytes, p.mtime_ns, p.words, p.refused, coalesce(c.passages, 0)::int AS passages
FROM pages p
LEFT JOIN (SELECT page_id, count(*) AS passages FROM chunks GROUP BY page_id) c ON c.page_id = p.id
WHERE %(track)s::text IS NULL OR p.track = %(track)s
ORDER BY p.track = 'root' DESC, p.track, p.position, p.url;
