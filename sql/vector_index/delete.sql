-- Forgets the index; returns nothing.
DELETE FROM vector_index;
