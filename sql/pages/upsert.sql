-- Stores a page under its address, new or in place of what was there; returns its id.
INSERT INTO pages (url, track, title, sort_number, sort_name, source_path, sha256, parsed_with,
                   text, source_lines, front_matter, is_landing, is_draft, words, refused,
                   size_bytes, mtime_ns)
VALUES (%(url)s, %(track)s, %(title)s, %(sort_number)s, %(sort_name)s, %(source_path)s, %(sha256)s,
        %(parsed_with)s, %(text)s, %(source_lines)s, %(front_matter)s, %(is_landing)s,
        %(is_draft)s, %(words)s, %(refused)s, %(size_bytes)s, %(mtime_ns)s)
ON CONFLICT (url) DO UPDATE SET
    track = excluded.track, title = excluded.title, sort_number = excluded.sort_number,
    sort_name = excluded.sort_name, source_path = excluded.source_path, sha256 = excluded.sha256,
    parsed_with = excluded.parsed_with, text = excluded.text,
    source_lines = excluded.source_lines, front_matter = excluded.front_matter,
    is_landing = excluded.is_landing, is_draft = excluded.is_draft, words = excluded.words,
    refused = excluded.refused, size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns,
    ingested_at = now()
RETURNING id;
