"""Databases on the embedded server: one a site, created when first needed."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from ragctl.db.connect import Connection, connect, translated
from ragctl.db.migrate import pending
from ragctl.db.statements import statement
from ragctl.errors import DatabaseMissing, DatabaseUnreachable, SchemaMismatch
from ragctl.records.stored import SiteSummary

if TYPE_CHECKING:
    from ragctl.db.server import EmbeddedServer

PREFIX = "ragctl_"

_LOOKS, _PAUSE_SECONDS = 10, 0.05


def database_name(site: str) -> str:
    """Return the name of a site's database."""
    return f"{PREFIX}{site}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """The memory that processes of a server share, in bytes, and the size of ``chunks``.

    ``is_ours`` says that we chose the memory, and not the user in settings of his own.
    """

    shared_bytes: int
    table_bytes: int
    is_ours: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _SiteDatabase:
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _SiteContent:
    content_root: str | None
    pages: int
    passages: int
    model: str | None
    ingested_at: datetime | None


def list_sites(server: EmbeddedServer) -> list[SiteSummary]:
    """Return the sites on the embedded server by name; starts it where it is stopped."""
    url = server.url("postgres")
    with (
        translated(url),
        connect_embedded(server, "postgres") as connection,
        connection.cursor(row_factory=class_row(_SiteDatabase)) as cursor,
    ):
        found = cursor.execute(statement("sites/databases")).fetchall()
    return [_summary(server, database) for database in found]


def _summary(server: EmbeddedServer, database: _SiteDatabase) -> SiteSummary:
    url = server.url(database.name)
    content: _SiteContent | None = None
    unread = ""
    with translated(url), connect(url) as connection:
        try:
            todo = pending(connection, url)
            if todo and todo[0].version > 1:
                unread = "made by an older ragctl"
            elif not todo:
                with connection.cursor(row_factory=class_row(_SiteContent)) as cursor:
                    content = cursor.execute(statement("sites/summary")).fetchone()
        except SchemaMismatch:
            unread = "made by another ragctl"
    return SiteSummary(
        name=database.name.removeprefix(PREFIX),
        content_root=content.content_root if content else None,
        pages=content.pages if content else 0,
        passages=content.passages if content else 0,
        model=content.model if content else None,
        ingested_at=content.ingested_at if content else None,
        size_bytes=database.size_bytes,
        unread=unread,
    )


def drop_database(server: EmbeddedServer, database: str) -> None:
    """Remove a database of the embedded server with all in it; nothing where it is absent."""
    url = server.url("postgres")
    command = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
    with translated(url), connect_embedded(server, "postgres") as connection:
        connection.execute(command.format(sql.Identifier(database)))


def connect_embedded(server: EmbeddedServer, database: str, *, creates: bool = False) -> Connection:
    """Connect to a database of the embedded server, starting the server where it is stopped.

    The usual case, a running server, costs one connection and no look at processes. Raises
    :class:`~ragctl.errors.DatabaseMissing` where there is no such database, and where the server
    was never started before and ``creates`` is not set.
    """
    url = server.url(database)
    try:
        return connect(url)
    except DatabaseUnreachable:
        if not creates and not server.status().initialised:
            raise DatabaseMissing(
                "the embedded server was never started", hint="Begin with `ragctl ingest PATH`."
            ) from None
        server.ensure_running()
        return connect(url)


def memory_fit(connection: Connection) -> MemoryFit:
    """Return how much memory the server shares, and the table that the exact scan reads."""
    with connection.cursor(row_factory=class_row(MemoryFit)) as cursor:
        fit = cursor.execute(statement("schema/memory")).fetchone()
    assert fit is not None
    return fit


def has_outgrown(server: EmbeddedServer, fit: MemoryFit) -> bool:
    """Tell whether a start would give the table more memory than the server has now."""
    needed = server.buffers_needed(table_bytes=fit.table_bytes)
    return fit.is_ours and fit.shared_bytes < needed


def refit(server: EmbeddedServer, database: str) -> bool | None:
    """Restart the server where a database has outgrown it and nobody is connected.

    Tells whether that was done; None where there was nothing to do. What the last start could not
    have is not asked for again. The passages are read once afterwards: the first question would
    wait for the disk else.
    """
    url = server.url(database)
    with translated(url), connect(url) as connection:
        fit = memory_fit(connection)
    if not has_outgrown(server, fit) or server.status().remark:
        return None
    if not server.restart_if_alone(lambda: _is_alone(url)):
        return False
    if fit.table_bytes:
        with translated(url), connect(url) as connection:
            connection.execute(statement("chunks/read_through"))
    return True


def _is_alone(url: str) -> bool:
    """Tell whether nobody else is connected; connections that just ended take a moment to go."""
    others = None
    with translated(url), connect(url) as connection:
        for _ in range(_LOOKS):
            others = connection.execute(statement("schema/others_connected")).fetchone()
            if others == (0,):
                return True
            time.sleep(_PAUSE_SECONDS)
    return False


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
