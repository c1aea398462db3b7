-- How the index is built that the table speaks of; no row where it speaks of none.
SELECT m, ef_construction FROM vector_index;
