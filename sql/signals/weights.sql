-- How much each of some stems tells on this site: the idf over its passages; one row a stem.
SELECT asked.term, ln((1 + site.chunks) / (1.0 + coalesce(terms.chunks, 0)))::float8 AS idf
FROM unnest(%(terms)s::text[]) AS asked (term)
LEFT JOIN terms ON terms.term = asked.term
CROSS JOIN (SELECT count(*) AS chunks FROM chunks) AS site;
