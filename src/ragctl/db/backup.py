"""Dumps and restores: PostgreSQL's custom format, whole or not at all.

A restore trusts nothing in the file: the tables are made by the migrations of this program, and
only rows are taken from the dump (see :mod:`ragctl.db.dump_file`).
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from ragctl.db.address import redacted
from ragctl.db.connect import Connection, connect, password_apart, translated
from ragctl.db.dump_file import DumpFile, Position, Rows, require_dump
from ragctl.db.migrate import migrate
from ragctl.db.statements import Migration, migrations, statement
from ragctl.db.vector_index import INDEX_NAME, VectorIndex
from ragctl.errors import DatabaseError, DatabaseUnsuitable, SchemaMismatch, UsageError

if TYPE_CHECKING:
    from ragctl.db.server import EmbeddedServer

_MADE = re.compile(r"^CREATE (?:OR REPLACE )?(TABLE|VIEW) ([a-z_]+)", re.M)
_MIGRATIONS = "schema_migrations"


def dump(server: EmbeddedServer, url: str, file: Path) -> int:
    """Write a database to a file in pg_dump's custom format and return its size in bytes.

    The file appears whole or not at all, for its owner alone: it holds every page's text.
    ``server`` lends its programs. Raises :class:`~ragctl.errors.DatabaseUnsuitable` behind a
    pooler: pg_dump empties the search path of its session, and whoever gets that session next
    would find no table.
    """
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is not a folder", hint="Name a file in one that exists.")
    if file.name == "-":
        raise UsageError("a dump goes into a file", hint="Name one: ragctl db dump backup.dump")
    _require_no_pooler(url)
    unfinished = file.absolute().with_name(f".{file.name}.unfinished")
    try:
        with suppress(FileNotFoundError):
            unfinished.unlink()
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _run_pg_dump(server.binary("pg_dump"), url, unfinished)
        unfinished.replace(file)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}", hint="Name a file in another folder."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return file.stat().st_size


def _run_pg_dump(program: Path, url: str, file: Path) -> None:
    address, secrets = password_apart(url)
    done = subprocess.run(
        [program, "--format=custom", f"--file={file}", address],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **secrets},
    )
    if done.returncode != 0:
        lines = [line for line in redacted(done.stderr).split("\n") if line.strip()]
        raise DatabaseError(
            f"pg_dump failed on {redacted(url)}: {lines[0] if lines else done.returncode}",
            hint=_advice(done.stderr),
        )


def _advice(said: str) -> str:
    if "version mismatch" in said:
        return "Use the pg_dump of the server's own version."
    if "permission denied" in said:
        return "Use the role that owns the tables."
    if any(os.strerror(number) in said for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)):
        return "Free some space, or name a file on another disk."
    return "Look at what it says, then try again; an older dump is as it was."


def _require_no_pooler(url: str) -> None:
    with translated(url), connect(url) as connection:
        row = connection.execute(statement("schema/backend")).fetchone()
        told = connection.info.backend_pid
    if row is not None and row[0] != told:
        raise DatabaseUnsuitable(
            f"{redacted(url)} is a pooler, whose sessions pg_dump would spoil for others",
            hint="Give the server's own address: ragctl db dump FILE --database-url ADDRESS",
        )


def restore(
    server: EmbeddedServer, connection: Connection, url: str, file: Path, *, replace: bool
) -> dict[str, int]:
    """Fill a database from a dump, in one transaction; return what was left out, by kind.

    Nothing of the file is run: the tables are made as this program makes them, up to the schema
    that the dump has, and filled with its rows. What else it holds (tables and views of others,
    functions, triggers) is left out.

    Raises :class:`~ragctl.errors.UsageError` where the file is no dump, or where the database
    already holds tables and ``replace`` is not set, and
    :class:`~ragctl.errors.SchemaMismatch` for a dump of a newer ragctl.
    """
    require_dump(file)
    with translated(url):
        tables = connection.execute(statement("schema/tables")).fetchone()
    if tables is not None and any(tables[:2]) and not replace:
        raise UsageError(
            f"{redacted(url)} is not empty",
            hint="Restore into another --site, or give --replace to put the dump in its place.",
        )
    found = DumpFile(file, program=server.binary("pg_restore"))
    known = _migrations_of(found)
    with translated(url), connection.transaction():
        connection.execute(statement("schema/create_extension"))
        if replace:
            _drop_ours(connection)
        migrate(connection, url, known=known)
        _fill(connection, found)
        _rebuild_index(connection, url, found)
    return found.left_out([*_made("TABLE"), _MIGRATIONS], _made("VIEW"))


def _made(kind: str) -> list[str]:
    """Return the names of the tables or views that migrations make, oldest first."""
    found = [_MADE.findall(migration.sql.decode()) for migration in migrations()]
    return list(dict.fromkeys(name for made in found for each, name in made if each == kind))


def _drop_ours(connection: Connection) -> None:
    """Drop every table and view that a migration made, and nothing else.

    Tables of a newer ragctl than the dump go too: left in place they would be in the way of the
    migrations that make them.
    """
    for name in reversed(_made("VIEW")):
        connection.execute(_about("schema/drop_view", name))
    for name in reversed([*_made("TABLE"), _MIGRATIONS]):
        connection.execute(_about("schema/drop_table", name))


def _about(name: str, table: str, columns: Sequence[str] = ()) -> sql.Composed:
    """Return a statement with the names of a table and of columns put in as identifiers."""
    template = sql.SQL(statement(name).decode())
    listed = sql.SQL(", ").join(map(sql.Identifier, columns))
    return template.format(table=sql.Identifier(table), columns=listed)


def _migrations_of(found: DumpFile) -> tuple[Migration, ...]:
    """Return the migrations that a dump was made with, which must be this program's oldest."""
    applied: dict[int, str] = {}
    for part in found.read([_MIGRATIONS]):
        if isinstance(part, Rows):
            for line in b"".join(part.pieces()).decode("utf-8", "replace").split("\n")[:-1]:
                row = dict(zip(part.columns, line.split("\t"), strict=False))
                if row.get("version", "").isdigit():
                    applied[int(row["version"])] = row.get("checksum", "")
    if not applied:
        raise UsageError(
            "the dump holds no database of ragctl", hint="Make one with `ragctl db dump FILE`."
        )
    known = migrations()[: len(applied)]
    if {migration.version: migration.checksum for migration in known} != applied:
        raise SchemaMismatch(
            f"the dump has schema {max(applied)}, which this ragctl does not know",
            hint="Restore it with the ragctl that made it, or a newer one.",
        )
    return known


def _fill(connection: Connection, found: DumpFile) -> None:
    """Put the rows of a dump into the tables, those that others refer to first."""
    names = _made("TABLE")
    rows = connection.execute(statement("schema/references"), {"names": names}).fetchall()
    tables: list[str] = list(TopologicalSorter(dict(rows)).static_order())
    for table in reversed(tables):  # migrations put first rows into some
        connection.execute(_about("schema/empty_table", table))
    for part in found.read(tables):
        if isinstance(part, Position):
            position = {"name": part.sequence, "value": part.value, "is_used": part.is_used}
            connection.execute(statement("schema/set_sequence"), {**position, "tables": tables})
        else:
            _copy(connection, part)


def _copy(connection: Connection, rows: Rows) -> None:
    command = _about("schema/copy_rows", rows.table, rows.columns)
    try:
        with connection.cursor().copy(command) as copy:
            for piece in rows.pieces():
                copy.write(piece)
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
        said = str(error).partition("\n")[0]
        raise DatabaseError(
            f"the rows of {rows.table} in the dump do not fit: {said}",
            hint="Nothing was changed. Make the dump anew with `ragctl db dump`.",
        ) from error


def _rebuild_index(connection: Connection, url: str, found: DumpFile) -> None:
    """Build the vector index of a dump again, by our own statement."""
    if any(entry.kind == "INDEX" and entry.name == INDEX_NAME for entry in found.entries):
        VectorIndex(connection, url).rebuild()
