-- The tracks that have pages, by name.
SELECT DISTINCT track FROM pages ORDER BY track;
