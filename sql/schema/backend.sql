-- The process that serves this connection: another than the one that greeted us, behind a pooler.
SELECT pg_backend_pid() AS pid;
