-- Forgets the calibration of an embedding model; returns nothing.
DELETE FROM calibrations WHERE embedding_model = %(embedding_model)s;
