"""Connections: opened one way, errors translated in one place.

Every connection speaks UTF-8, keeps no prepared statements (a pooler in transaction mode hands
them to others) and puts no ``options`` into the connection string (poolers refuse it).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from pgvector.psycopg.vector import register_vector_info
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import class_row
from psycopg.types import TypeInfo

from ragctl.db.statements import statement
from ragctl.errors import (
    DatabaseError,
    DatabaseMissing,
    DatabaseUnreachable,
    DatabaseUnsuitable,
)

OLDEST_SERVER = 140000
OLDEST_VECTOR = (0, 6)
USABLE_ENCODINGS = ("UTF8", "SQL_ASCII")

_TURNED_AWAY = re.compile(
    r"too many (connections|clients)|remaining connection slots|not currently accepting connections"
    r"|the database system is (starting up|shutting down|in recovery|not yet accepting)"
)

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a server says of itself; versions of pgvector are ``None`` where it is not installed."""

    version_number: int
    version: str
    encoding: str
    database: str
    role: str
    vector_version: str | None
    vector_schema: str | None
    vector_available: bool
    vector_visible: bool


def redacted(url: str) -> str:
    """Return a database address without its password."""
    without = re.sub(r"(://[^/:@]*):.*@", r"\1@", url)
    return re.sub(r"(?i)(password=)('[^']*'|[^&\s]*)", r"\1***", without)


def password_apart(url: str) -> tuple[str, dict[str, str]]:
    """Return an address for a program's arguments, and the variables that hold its password.

    Arguments can be read by everyone on a machine, the environment by its owner alone.
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return url, {}
    password = parts.pop("password", None)
    if not password:
        return url, {}
    kept: dict[str, Any] = dict(parts)
    return make_conninfo(**kept), {"PGPASSWORD": str(password)}


def connect(url: str) -> Connection:
    """Open a connection in autocommit mode.

    Raises :class:`~ragctl.errors.DatabaseUnreachable` where nothing answers, and
    :class:`~ragctl.errors.DatabaseUnsuitable` where the server turns us away.
    """
    try:
        connection = psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            client_encoding="utf8",
            application_name="ragctl",
            connect_timeout=10,
        )
        return _settled(connection)
    except psycopg.OperationalError as error:
        raise _connect_error(url, error) from error
    except (psycopg.Error, UnicodeError, ValueError) as error:
        raise DatabaseUnreachable(
            f"{redacted(url)} is not a usable database address",
            hint="Write it as postgresql://user@host:5432/name.",
        ) from error


def _settled(connection: Connection) -> Connection:
    """Set what a database may have set otherwise and our statements and the driver rely on.

    Poolers follow both settings for each client, so none leaks to another.
    """
    told = connection.info.parameter_status
    is_iso = (told("DateStyle") or "ISO").startswith("ISO")
    if not is_iso or told("standard_conforming_strings") == "off":
        connection.execute(statement("schema/settle"))
    return connection


def _connect_error(url: str, error: psycopg.OperationalError) -> DatabaseError:
    text = str(error)
    if "password authentication" in text or "no password supplied" in text:
        return DatabaseUnsuitable(
            f"{redacted(url)} refuses the user or password",
            hint="Check the address, or put the password into PGPASSWORD or ~/.pgpass.",
        )
    if re.search(r'database ".*" does not exist', text):
        return DatabaseMissing(
            f"{redacted(url)}: the database does not exist",
            hint="Create it with createdb, or correct the name.",
        )
    if re.search(
        r'role ".*" does not exist|no pg_hba.conf entry|permission denied for database', text
    ):
        return DatabaseUnsuitable(
            f"{redacted(url)}: {one_line(error)}",
            hint="Ask the server's owner for a role that may connect.",
        )
    if _TURNED_AWAY.search(text):
        return DatabaseUnreachable(
            f"{redacted(url)} turns connections away: {one_line(error)}",
            hint="Try again in a moment; if it lasts, ask the server's owner (max_connections, "
            "CONNECTION LIMIT, or a server that is starting).",
        )
    return DatabaseUnreachable(
        f"no PostgreSQL answers at {redacted(url)}: {one_line(error)}",
        hint="Check that the server runs and the address is right, or leave the address out to "
        "use the embedded server.",
    )


def one_line(error: Exception) -> str:
    """Return what an error says in one line, without a password.

    A server's message has a primary line; of a failed connection the last line tells why.
    """
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    lines = [line.strip() for line in redacted(primary or str(error)).split("\n") if line.strip()]
    return lines[-1] if lines else type(error).__name__


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Turn driver errors inside the block into errors a user can act on."""
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseUnsuitable(
            f"the role of {redacted(url)} lacks a right: {one_line(error)}",
            hint="Grant it, or use a role that owns the tables.",
        ) from error
    except psycopg.errors.DiskFull as error:
        raise DatabaseError(
            f"the disk of {redacted(url)} is full: {one_line(error)}",
            hint="Free some space and run the command again; what was stored is kept.",
        ) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise DatabaseUnsuitable(
            f"{redacted(url)} is read-only: {one_line(error)}",
            hint="Give the address of the primary server, or of a role and database whose "
            "default_transaction_read_only is off.",
        ) from error
    except psycopg.errors.QueryCanceled as error:
        raise DatabaseError(
            f"{redacted(url)} stopped a statement: {one_line(error)}",
            hint="Run the command again; if it lasts, raise statement_timeout for this role.",
        ) from error
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise DatabaseUnreachable(
            f"the connection to {redacted(url)} was lost: {one_line(error)}",
            hint="Run the command again; what was stored is kept.",
        ) from error
    except psycopg.errors.UndefinedTable as error:
        raise DatabaseError(
            f"a table is missing in {redacted(url)}: {one_line(error)}",
            hint="Run `ragctl db migrate`.",
        ) from error
    except psycopg.Error as error:
        raise DatabaseError(
            f"the database {redacted(url)} refused a statement: {one_line(error)}",
            hint="Run again with --debug for the whole message.",
        ) from error


def server_facts(connection: Connection) -> ServerFacts:
    """Ask the server what it is."""
    with connection.cursor(row_factory=class_row(ServerFacts)) as cursor:
        facts = cursor.execute(statement("schema/server")).fetchone()
    assert facts is not None
    return facts


def require_suitable(facts: ServerFacts, url: str) -> None:
    """Raise :class:`~ragctl.errors.DatabaseUnsuitable` where the server cannot hold an index."""
    place = redacted(url)
    if facts.version_number < OLDEST_SERVER:
        raise DatabaseUnsuitable(
            f"{place} is PostgreSQL {facts.version}; 14 or newer is needed",
            hint="Upgrade the server, or leave the address out to use the embedded one.",
        )
    if facts.encoding not in USABLE_ENCODINGS:
        raise DatabaseUnsuitable(
            f"database {facts.database} of {place} has encoding {facts.encoding}; UTF8 is needed",
            hint="Create it anew: createdb --template=template0 --encoding=UTF8 NAME",
        )
    if facts.vector_version is None and not facts.vector_available:
        raise DatabaseUnsuitable(
            f"{place} has no pgvector",
            hint="Install the pgvector package of your PostgreSQL (0.6 or newer) on that server.",
        )
    if facts.vector_version is not None and _numbers(facts.vector_version) < OLDEST_VECTOR:
        raise DatabaseUnsuitable(
            f"{place} has pgvector {facts.vector_version}; 0.6 or newer is needed",
            hint="Upgrade the package, then run: ALTER EXTENSION vector UPDATE",
        )
    if facts.vector_version is not None and not facts.vector_visible:
        raise DatabaseUnsuitable(
            f"pgvector lies in schema {facts.vector_schema} of {place}, which role {facts.role} "
            "does not search",
            hint=f'ALTER ROLE "{facts.role}" IN DATABASE "{facts.database}" '
            f'SET search_path = public, "{facts.vector_schema}"',
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def register_vectors(connection: Connection, url: str) -> None:
    """Teach a connection to send and read vectors in binary; the extension must exist."""
    with translated(url):
        info = TypeInfo.fetch(connection, "vector")
    if info is None:
        raise DatabaseUnsuitable(
            f"pgvector is not installed in {redacted(url)}", hint="Run `ragctl db migrate`."
        )
    register_vector_info(connection, info)
