-- The address and the text of every page that is no landing page, in reading order.
SELECT url, text
FROM pages
WHERE NOT is_landing
ORDER BY track, position, url;
