-- Removes every page and passage; returns nothing.
DELETE FROM pages;
