-- Takes passages as a binary stream; the types of the columns are set by the caller.
COPY chunks (track, url, section, body, embedding, page_id, position, ref, anchor, breadcrumb,
             start_char, end_char, content_hash, names, name_words)
FROM STDIN WITH (FORMAT BINARY);
