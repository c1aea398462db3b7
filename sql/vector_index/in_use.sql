-- The width of searches by the index; no row where searches are exact.
SELECT width FROM vector_index WHERE in_use;
