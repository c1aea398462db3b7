"""Dumps and restores: PostgreSQL's own programs, its custom format, all or nothing."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.db.connect import Connection, redacted, translated
from ragctl.db.statements import migrations, statement
from ragctl.errors import DatabaseError, UsageError

if TYPE_CHECKING:
    from ragctl.db.server import EmbeddedServer

CUSTOM_FORMAT = b"PGDMP"
_MADE = re.compile(r"^CREATE (?:OR REPLACE )?(TABLE|VIEW) ([a-z_]+)", re.M)


def dump(server: EmbeddedServer, url: str, file: Path) -> int:
    """Write a database to a file in pg_dump's custom format and return its size in bytes.

    The file appears whole or not at all. ``server`` lends its programs.
    """
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is not a folder", hint="Name a file in one that exists.")
    if file.name == "-":
        raise UsageError("a dump goes into a file", hint="Name one: ragctl db dump backup.dump")
    unfinished = file.with_name(f".{file.name}.unfinished")
    try:
        _run(
            [server.binary("pg_dump"), "--format=custom", f"--file={unfinished}", url],
            url,
            what="pg_dump",
        )
        unfinished.chmod(0o600)  # it holds every page's text
        unfinished.replace(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return file.stat().st_size


def restore(
    server: EmbeddedServer, connection: Connection, url: str, file: Path, *, replace: bool
) -> None:
    """Fill a database from a dump, in one transaction.

    Raises :class:`~ragctl.errors.UsageError` where the file is no dump, or where the database
    already holds tables and ``replace`` is not set.
    """
    require_dump(file)
    with translated(url):
        tables = connection.execute(statement("schema/tables")).fetchone()
    if tables is not None and any(tables[:2]) and not replace:
        raise UsageError(
            f"{redacted(url)} is not empty",
            hint="Restore into another --site, or give --replace to put the dump in its place.",
        )
    with translated(url):
        connection.execute(statement("schema/create_extension"))
    program = server.binary("pg_restore")
    with tempfile.TemporaryDirectory(prefix="ragctl-") as folder:
        chosen, script, clear = (Path(folder) / name for name in ("list", "restore", "clear"))
        chosen.write_text(_without_extensions(program, file, url), encoding="utf-8")
        made = ["--no-owner", "--no-privileges", f"--use-list={chosen}", f"--file={script}"]
        _run([program, *made, file], url, what="pg_restore")
        clear.write_text(_dropping_ours() if replace else "", encoding="utf-8")
        scripts = [f"--file={clear}", f"--file={script}"]
        quiet = ["--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1"]
        _run(
            [server.binary("psql"), *quiet, "--single-transaction", *scripts, url],
            url,
            what="psql",
        )


def _dropping_ours() -> str:
    """Return what drops every table and view that a migration made, and nothing else.

    Tables of a newer ragctl than the dump go too: left in place they would be in the way of the
    migrations that make them.
    """
    made = [_MADE.findall(migration.sql.decode()) for migration in migrations()]
    names = [(kind, name) for found in reversed(made) for kind, name in reversed(found)]
    drops = [f"DROP {kind} IF EXISTS {name} CASCADE;" for kind, name in names]
    return "\n".join((*drops, "DROP TABLE IF EXISTS schema_migrations;", ""))


def _without_extensions(program: Path, file: Path, url: str) -> str:
    """Return the dump's list of contents less the extension, which only its owner may replace."""
    listed = _run([program, "--list", file], url, what="pg_restore")
    lines = [line for line in listed.split("\n") if " EXTENSION " not in line]
    return "\n".join(lines)


def require_dump(file: Path) -> None:
    """Raise :class:`~ragctl.errors.UsageError` where a file is not a dump in the custom format."""
    try:
        with file.open("rb") as opened:
            head = opened.read(len(CUSTOM_FORMAT))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if head != CUSTOM_FORMAT:
        raise UsageError(
            f"{file} is not a dump in pg_dump's custom format",
            hint="Make one with `ragctl db dump FILE`.",
        )


def _run(command: Sequence[str | os.PathLike[str]], url: str, *, what: str) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        lines = [line for line in redacted(done.stderr).split("\n") if line.strip()]
        raise DatabaseError(
            f"{what} failed on {redacted(url)}: {lines[0] if lines else done.returncode}",
            hint="Nothing was changed. If the server is newer than PostgreSQL 16, use its own "
            f"{what}.",
        )
    return done.stdout
