-- Notes which pages are on the built site: all but the dead ones; null notes none. Returns nothing.
UPDATE pages SET link_lands = url <> ALL (%(dead)s::text[])
WHERE link_lands IS DISTINCT FROM (url <> ALL (%(dead)s::text[]));
