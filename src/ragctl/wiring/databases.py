"""Which database a site has, and how it is opened, made, listed and kept."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.db import embedded
from ragctl.db.connect import Connection, connect, password_apart
from ragctl.db.database import Database
from ragctl.db.embedded import (
    MemoryFit,
    connect_embedded,
    create_database,
    database_name,
    has_outgrown,
    memory_fit,
    refit,
)
from ragctl.db.migrate import has_tables, migrate, set_foreign_table_aside
from ragctl.db.rights import require_ingesting
from ragctl.db.server import EmbeddedServer
from ragctl.errors import ContentError, DatabaseError, DatabaseMissing
from ragctl.wiring.places import data_directory

if TYPE_CHECKING:
    from ragctl.db.statements import Migration
    from ragctl.records.stored import SiteSummary
    from ragctl.settings import Settings


def embedded_server(settings: Settings) -> EmbeddedServer:
    """Return the embedded server of the data directory, started or not."""
    return EmbeddedServer(data_directory(settings))


def database_url(settings: Settings) -> str:
    """Return the address of the site's database, whether or not it can be reached."""
    if settings.database.url:
        return settings.database.url
    return embedded_server(settings).url(database_name(settings.site.name))


def raw_connection(settings: Settings, *, creates: bool = False) -> Connection:
    """Connect to the site's database as it is, starting the embedded server where needed.

    Only with ``creates`` is that server made where there is none.
    """
    if settings.database.url:
        return connect(settings.database.url)
    name = database_name(settings.site.name)
    return connect_embedded(embedded_server(settings), name, creates=creates)


def open_database(settings: Settings) -> Database:
    """Open the site's database for reading; creates, starts for the first time, migrates nothing.

    Raises :class:`~ragctl.errors.ContentError` where nothing was ever ingested.
    """
    try:
        connection = raw_connection(settings)
    except DatabaseMissing:
        if settings.database.url:
            raise
        raise _nothing_in(settings) from None
    return _database_over(connection, settings)


def require_tables(settings: Settings) -> None:
    """Start the server where needed, and raise ContentError where the site has no tables.

    Those of an older ragctl will do: before a migration is the time to look and to keep a copy.
    """
    try:
        with raw_connection(settings) as connection:
            if has_tables(connection, database_url(settings)):
                return
    except DatabaseMissing:
        if settings.database.url:
            raise
    raise _nothing_in(settings)


def _nothing_in(settings: Settings) -> ContentError:
    return ContentError(
        f"site {settings.site.name!r} holds nothing yet",
        hint="Run `ragctl ingest PATH/TO/CONTENT` first, or `ragctl demo` to look around.",
    )


def open_database_for_ingest(settings: Settings, *, replaces: bool = False) -> Database:
    """Open the site's database, creating and migrating it where needed.

    With ``replaces``, a table ``chunks`` that is not ragctl's is moved out of the way.
    """
    migrate_database(settings, replaces=replaces)
    connection = raw_connection(settings)
    try:
        require_ingesting(connection, database_url(settings))
    except BaseException:
        connection.close()
        raise
    return _database_over(connection, settings)


def migrate_database(settings: Settings, *, replaces: bool = False) -> tuple[Migration, ...]:
    """Bring the site's database to this version's schema, creating an embedded one first."""
    connection, _ = _connection_made(settings)
    with connection:
        if replaces:
            set_foreign_table_aside(connection, database_url(settings))
        return migrate(connection, database_url(settings))


def _connection_made(settings: Settings) -> tuple[Connection, bool]:
    """Connect to the site's database, creating an embedded one; tell whether that was done."""
    try:
        return raw_connection(settings, creates=True), False
    except DatabaseMissing:
        if settings.database.url:
            raise
        create_database(embedded_server(settings), database_name(settings.site.name))
        return raw_connection(settings), True


def _database_over(connection: Connection, settings: Settings) -> Database:
    try:
        return Database.over(connection, database_url(settings))
    except BaseException:
        connection.close()
        raise


def look_at_memory(settings: Settings, connection: Connection) -> tuple[MemoryFit, bool]:
    """Return the memory that a server shares, and whether a start of ours would give it more."""
    fit = memory_fit(connection)
    return fit, not settings.database.url and has_outgrown(embedded_server(settings), fit)


def fit_server(settings: Settings) -> bool | None:
    """Restart the embedded server where a site has outgrown its memory and nobody is connected.

    Tells whether that was done; ``None`` where there was nothing to do.
    """
    if settings.database.url:
        return None
    return refit(embedded_server(settings), database_name(settings.site.name))


def free_disk_bytes(settings: Settings) -> int | None:
    """Return the free disk where the embedded server keeps its files; ``None`` for others."""
    if settings.database.url:
        return None
    return shutil.disk_usage(embedded_server(settings).status().data_directory).free


def list_sites(settings: Settings) -> list[SiteSummary]:
    """Return the sites on the embedded server; none where it was never started."""
    server = embedded_server(settings)
    return embedded.list_sites(server) if server.status().initialised else []


def remove_site(settings: Settings) -> None:
    """Remove the embedded database of the site."""
    embedded.drop_database(embedded_server(settings), database_name(settings.site.name))


def program_address(settings: Settings) -> tuple[str, dict[str, str]]:
    """Return the site's address for a program's arguments, and variables with its password."""
    return password_apart(database_url(settings))


def dump_site(settings: Settings, file: Path) -> int:
    """Write the site's database to a file and return its size in bytes."""
    require_tables(settings)
    from ragctl.db import backup

    return backup.dump(embedded_server(settings), database_url(settings), file)


def restore_site(settings: Settings, file: Path, *, replace: bool) -> dict[str, int]:
    """Fill the site's database from a dump, creating an embedded one first.

    Returns what of the dump is not ragctl's and was left out, by kind.
    """
    from ragctl.db import backup, dump_file

    dump_file.require_dump(file)
    server = embedded_server(settings)
    connection, is_new = _connection_made(settings)
    try:
        with connection:
            return backup.restore(server, connection, database_url(settings), file, replace=replace)
    except BaseException:
        if is_new:  # a site that was not there is not there after a restore that failed
            with suppress(DatabaseError):
                remove_site(settings)
        raise
