-- Removes the passages of some pages; returns nothing.
DELETE FROM chunks WHERE page_id = ANY (%(page_ids)s);
