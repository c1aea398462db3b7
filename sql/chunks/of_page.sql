-- The passages of one page in order, without their vectors.
SELECT id, url, track, position, ref, section, anchor, breadcrumb, start_char, end_char, body,
       content_hash
FROM chunks
WHERE page_id = %(page_id)s
ORDER BY position, id;
