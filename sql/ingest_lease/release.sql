-- Gives the lease back; returns nothing.
DELETE FROM ingest_lease WHERE owner = %(owner)s;
