-- Removes the rows of processes that are gone; returns nothing.
DELETE FROM generation_slots WHERE owner = ANY(%(owners)s);
