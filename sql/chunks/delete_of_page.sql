-- Removes the passages of one page; returns nothing.
DELETE FROM chunks WHERE page_id = %(page_id)s;
