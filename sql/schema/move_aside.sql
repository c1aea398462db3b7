-- Moves a foreign table chunks with its indexes and sequences out of the way; returns nothing.
ALTER TABLE chunks SET SCHEMA before_ragctl;
