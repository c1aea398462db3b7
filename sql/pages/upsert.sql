-- Stores pages, each new or in place of what its address held; returns their addresses and ids.
INSERT INTO pages (url, track, title, sort_number, sort_name, source_path, sha256, parsed_with,
                   text, source_lines, front_matter, is_landing, is_draft, words, refused,
                   size_bytes, mtime_ns)
SELECT url, track, title, sort_number, sort_name, source_path, sha256, %(parsed_with)s,
       text, source_lines::int[], front_matter::jsonb, is_landing, is_draft, words, refused,
       size_bytes, mtime_ns
FROM unnest(%(url)s::text[], %(track)s::text[], %(title)s::text[], %(sort_number)s::float8[],
            %(sort_name)s::text[], %(source_path)s::text[], %(sha256)s::text[], %(text)s::text[],
            %(source_lines)s::text[], %(front_matter)s::text[], %(is_landing)s::bool[],
            %(is_draft)s::bool[], %(words)s::int[], %(refused)s::int[], %(size_bytes)s::bigint[],
            %(mtime_ns)s::bigint[])
     AS given (url, track, title, sort_number, sort_name, source_path, sha256, text,
               source_lines, front_matter, is_landing, is_draft, words, refused, size_bytes, mtime_ns)
ON CONFLICT (url) DO UPDATE SET
    track = excluded.track, title = excluded.title, sort_number = excluded.sort_number,
    sort_name = excluded.sort_name, source_path = excluded.source_path, sha256 = excluded.sha256,
    parsed_with = excluded.parsed_with, text = excluded.text,
    source_lines = excluded.source_lines, front_matter = excluded.front_matter,
    is_landing = excluded.is_landing, is_draft = excluded.is_draft, words = excluded.words,
    refused = excluded.refused, size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns,
    ingested_at = now()
RETURNING url, id;
