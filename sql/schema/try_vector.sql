-- One distance: fails where the role may not use pgvector, whatever CREATE EXTENSION said.
SELECT '[1,0]'::vector <=> '[0,1]'::vector AS distance;
