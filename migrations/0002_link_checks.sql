-- Whether links land on the built site: null where that was not checked.
ALTER TABLE pages ADD COLUMN link_lands boolean;
COMMENT ON COLUMN pages.link_lands IS 'Whether the page is on the built site (site.dist); null: not checked.';
ALTER TABLE chunks ADD COLUMN anchor_lands boolean;
COMMENT ON COLUMN chunks.anchor_lands IS 'Whether the anchor opens the section on the built site; null: not checked, or no anchor.';
