-- Takes rows in PostgreSQL's text format; table and columns are put in by the client.
COPY {table} ({columns}) FROM STDIN;
