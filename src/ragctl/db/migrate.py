"""Migrations: forward only, each in one transaction with its record."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg.rows import class_row

from ragctl.db.address import redacted
from ragctl.db.connect import (
    Connection,
    require_creating,
    require_suitable,
    server_facts,
    translated,
)
from ragctl.db.failures import one_line
from ragctl.db.statements import Migration, migrations, statement
from ragctl.errors import DatabaseUnsuitable, SchemaMismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedMigration:
    """A migration as the database remembers it."""

    version: int
    name: str
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tables:
    has_migrations: bool
    has_chunks: bool
    embedding_type: str | None
    elsewhere: str | None


def pending(
    connection: Connection, url: str, *, known: tuple[Migration, ...] | None = None
) -> tuple[Migration, ...]:
    """Return the migrations that the database still needs, oldest first.

    Raises :class:`~ragctl.errors.SchemaMismatch` where the schema is newer than this program,
    where an applied migration was edited, or where a table ``chunks`` is not ragctl's.
    """
    known = migrations() if known is None else known
    with translated(url):
        applied = _applied(connection, url)
    by_version = {migration.version: migration for migration in known}
    for record in applied:
        migration = by_version.get(record.version)
        if migration is None:
            raise SchemaMismatch(
                f"{redacted(url)} has schema {record.name}, newer than this ragctl knows",
                hint="Upgrade ragctl, or use another database or --site.",
            )
        if migration.checksum != record.checksum:
            raise SchemaMismatch(
                f"migration {record.name} was edited after it was applied to {redacted(url)}",
                hint="If you changed the file, change it back and write a new migration. Else the "
                "database was made by a version that was never released: `ragctl db dump` keeps "
                "it, and another --site, or a new ingest after `ragctl sites remove`, goes on.",
            )
    done = {record.version for record in applied}
    return tuple(migration for migration in known if migration.version not in done)


def migrate(
    connection: Connection, url: str, *, known: tuple[Migration, ...] | None = None
) -> tuple[Migration, ...]:
    """Apply what is pending and return it; safe for several processes at once.

    Raises what :func:`pending` raises, and :class:`~ragctl.errors.DatabaseUnsuitable` where the
    server is too old, lacks pgvector, or the role lacks rights.
    """
    with translated(url):
        facts = server_facts(connection)
    require_suitable(facts, url)
    applied: list[Migration] = []
    while todo := pending(connection, url, known=known):
        require_creating(facts, url)
        with translated(url):
            applied.extend(_apply_next(connection, url, todo[0].version, known))
    with translated(url):
        _try_vector(connection, url)
    return tuple(applied)


def _apply_next(
    connection: Connection, url: str, version: int, known: tuple[Migration, ...] | None
) -> list[Migration]:
    with connection.transaction():
        connection.execute(statement("schema_migrations/lock"))
        todo = pending(connection, url, known=known)
        if not todo or todo[0].version != version:
            return []
        migration = todo[0]
        _run(connection, migration, url)
        connection.execute(
            statement("schema_migrations/insert"),
            {
                "version": migration.version,
                "name": migration.name,
                "checksum": migration.checksum,
            },
        )
    return [migration]


def set_foreign_table_aside(connection: Connection, url: str) -> None:
    """Move a table ``chunks`` that ragctl did not make into the schema ``before_ragctl``.

    Nothing is lost, and nothing happens where there is no such table.
    """
    with translated(url):
        with connection.cursor(row_factory=class_row(_Tables)) as cursor:
            tables = cursor.execute(statement("schema/tables")).fetchone()
        if tables is not None and tables.has_chunks and not tables.has_migrations:
            with connection.transaction():
                connection.execute(statement("schema/make_aside"))
                connection.execute(statement("schema/move_aside"))


def require_readable(connection: Connection, url: str) -> None:
    """Raise :class:`~ragctl.errors.DatabaseUnsuitable` where tables are there and out of reach.

    A role that may not use their schema, or does not search it, sees none; nor does a connection
    whose search path another program emptied before a pooler handed it on.
    """
    with translated(url), connection.cursor(row_factory=class_row(_Tables)) as cursor:
        tables = cursor.execute(statement("schema/tables")).fetchone()
        path = connection.execute(statement("schema/search_path")).fetchone()
    if tables is None or tables.has_migrations or tables.elsewhere is None:
        return
    raise DatabaseUnsuitable(
        f"the tables of ragctl lie in schema {tables.elsewhere} of {redacted(url)}, which this "
        f"connection does not search or may not use (search_path is {path[0] if path else ''})",
        hint=f'Let its owner run: GRANT USAGE ON SCHEMA "{tables.elsewhere}" TO the role; or set '
        "the role's search_path.",
    )


def _run(connection: Connection, migration: Migration, url: str) -> None:
    try:
        connection.execute(statement("schema_migrations/create"))
        connection.execute(migration.sql)
    except psycopg.errors.InsufficientPrivilege as error:
        needs_extension = "extension" in one_line(error)
        raise DatabaseUnsuitable(
            f"the role of {redacted(url)} may not apply {migration.name}: {one_line(error)}",
            hint="Let a superuser run in this database: CREATE EXTENSION vector"
            if needs_extension
            else "Migrate as the role that owns the tables.",
        ) from error


def has_tables(connection: Connection, url: str) -> bool:
    """Tell whether any ragctl, older or newer, has made its tables here."""
    with translated(url):
        return _tables(connection).has_migrations


def _tables(connection: Connection) -> _Tables:
    with connection.cursor(row_factory=class_row(_Tables)) as cursor:
        tables = cursor.execute(statement("schema/tables")).fetchone()
    assert tables is not None
    return tables


def _applied(connection: Connection, url: str) -> list[AppliedMigration]:
    tables = _tables(connection)
    if tables.has_migrations:
        with connection.cursor(row_factory=class_row(AppliedMigration)) as rows:
            return rows.execute(statement("schema_migrations/select")).fetchall()
    if tables.has_chunks:
        ours = tables.embedding_type == "vector(768)"
        raise SchemaMismatch(
            f"{redacted(url)} has a table chunks that ragctl did not make"
            + ("" if ours else f"; its embedding is {tables.embedding_type or 'absent'}, ")
            + ("" if ours else "ragctl's is vector(768)"),
            hint="Use another database (or --site, on the embedded server). Or give "
            "`ragctl ingest PATH --rebuild`: it moves that table to the schema before_ragctl.",
        )
    return []


def _try_vector(connection: Connection, url: str) -> None:
    try:
        connection.execute(statement("schema/try_vector"))
    except psycopg.Error as error:
        facts = server_facts(connection)
        raise DatabaseUnsuitable(
            f"role {facts.role} cannot use pgvector in {redacted(url)}: {one_line(error)}",
            hint=f'GRANT USAGE ON SCHEMA "{facts.vector_schema}" TO "{facts.role}"',
        ) from error
