-- Removes pages and with them their passages; returns nothing.
DELETE FROM pages WHERE url = ANY (%(urls)s);
