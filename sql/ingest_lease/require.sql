-- Holds the lease against takers, but not against its own renewal, until the transaction ends;
-- no row where it was lost.
SELECT owner FROM ingest_lease WHERE owner = %(owner)s FOR KEY SHARE;
