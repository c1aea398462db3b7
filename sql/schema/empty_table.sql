-- Empties a table before its rows are restored; the name is put in by the client.
DELETE FROM {table};
