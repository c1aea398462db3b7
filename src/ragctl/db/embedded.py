"""Databases on the embedded server: one a site, created when first needed."""

from __future__ import annotations

from contextlib import suppress

import psycopg
from psycopg import sql

from ragctl.db.connect import Connection, connect, translated
from ragctl.db.server import EmbeddedServer
from ragctl.errors import DatabaseUnreachable


def database_name(site: str) -> str:
    """Return the name of a site's database."""
    return f"ragctl_{site}"


def connect_embedded(server: EmbeddedServer, database: str) -> Connection:
    """Connect to a database of the embedded server, starting the server where it is stopped.

    The usual case, a running server, costs one connection and no look at processes.
    """
    url = server.url(database)
    try:
        return connect(url)
    except DatabaseUnreachable:
        server.ensure_running()
        return connect(url)


def create_database(server: EmbeddedServer, database: str) -> None:
    """Create a database on the embedded server; nothing where it exists."""
    server.ensure_running()
    url = server.url("postgres")
    command = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'")
    with (
        translated(url),
        connect(url) as connection,
        suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation),
    ):
        connection.execute(command.format(sql.Identifier(database)))
