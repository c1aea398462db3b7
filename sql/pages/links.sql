-- Every link that can be printed, by page: the page itself, then its sections with their label.
SELECT p.url, p.source_path, NULL::text AS anchor, NULL::text AS section FROM pages p
UNION ALL
SELECT c.url, p.source_path, c.anchor, min(c.section)
FROM chunks c
JOIN pages p ON p.id = c.page_id
WHERE c.anchor <> ''
GROUP BY c.url, p.source_path, c.anchor
ORDER BY url, anchor NULLS FIRST;
