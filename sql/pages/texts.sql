-- The text of one page and the source line of each of its lines; no row for an unknown address.
SELECT id, url, track, title, source_path, sha256, is_landing, text, source_lines
FROM pages
WHERE url = %(url)s;
