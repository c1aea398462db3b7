-- Makes the schema that takes tables ragctl did not make; nothing where it exists.
CREATE SCHEMA IF NOT EXISTS before_ragctl;
