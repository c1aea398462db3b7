-- Records the content root; returns nothing.
INSERT INTO site (content_root) VALUES (%(content_root)s)
ON CONFLICT (only_row) DO UPDATE SET content_root = excluded.content_root;
