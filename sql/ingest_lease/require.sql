-- Holds the lease against takers until the transaction ends; no row where it was lost.
SELECT owner FROM ingest_lease WHERE owner = %(owner)s FOR SHARE;
