"""Connections: opened one way, errors translated in one place.

Every connection speaks UTF-8, keeps no prepared statements (a pooler in transaction mode hands
them to others) and puts no ``options`` into the connection string (poolers refuse it).
"""

from __future__ import annotations

import logging
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

from ragctl.db.address import has_unencoded_password, redacted, shown
from ragctl.db.failures import READ_ONLY_HINT, refusal, told
from ragctl.db.statements import statement
from ragctl.errors import DatabaseReadOnly, DatabaseUnreachable, DatabaseUnsuitable

OLDEST_SERVER = 140000
OLDEST_VECTOR = (0, 6)
USABLE_ENCODINGS = ("UTF8", "SQL_ASCII")

Connection = psycopg.Connection[tuple[Any, ...]]

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it logs, its errors tell too


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """What a server says of itself and of our role.

    Versions of pgvector are ``None`` where it is not installed. ``schema`` is where new tables
    would go; ``None`` where the role may use no schema of its search path.
    """

    version_number: int
    version: str
    encoding: str
    database: str
    role: str
    vector_version: str | None
    vector_schema: str | None
    vector_available: bool
    vector_visible: bool
    vector_usable: bool
    vector_creatable: bool
    schema: str | None
    may_create: bool
    is_read_only: bool


# It would say on standard error what is raised as well: a lost connection, a pipeline cut short.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)


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
    except (psycopg.Error, UnicodeError, ValueError) as error:
        if isinstance(error, psycopg.OperationalError) and not has_unencoded_password(url):
            raise refusal(error, shown(url)) from error
        raise DatabaseUnreachable(
            f"{shown(url)} is not a usable database address",
            hint="Write it as postgresql://user@host:5432/name; in a password, @ is %40, / is %2F "
            "and % is %25.",
        ) from None  # the driver quotes the address, password and all


def _settled(connection: Connection) -> Connection:
    """Set what a database may have set otherwise and our statements and the driver rely on.

    Poolers follow both settings for each client, so none leaks to another.
    """
    told = connection.info.parameter_status
    is_iso = (told("DateStyle") or "ISO").startswith("ISO")
    if not is_iso or told("standard_conforming_strings") == "off":
        connection.execute(statement("schema/settle"))
    return connection


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Turn driver errors inside the block into errors a user can act on."""
    try:
        yield
    except psycopg.Error as error:
        raise told(error, redacted(url)) from error


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
    if facts.vector_version is not None and not facts.vector_usable:
        raise DatabaseUnsuitable(
            f"role {facts.role} may not use schema {facts.vector_schema} of {place}, in which "
            "pgvector lies",
            hint=f'Let its owner run: GRANT USAGE ON SCHEMA "{facts.vector_schema}" TO '
            f'"{facts.role}"',
        )
    if facts.vector_version is not None and not facts.vector_visible:
        raise DatabaseUnsuitable(
            f"pgvector lies in schema {facts.vector_schema} of {place}, which role {facts.role} "
            "does not search",
            hint=f'ALTER ROLE "{facts.role}" IN DATABASE "{facts.database}" '
            f'SET search_path = public, "{facts.vector_schema}"',
        )


def require_creating(facts: ServerFacts, url: str) -> None:
    """Raise :class:`~ragctl.errors.DatabaseUnsuitable` where the role may not make the tables."""
    place = redacted(url)
    if facts.is_read_only:
        raise DatabaseReadOnly(f"{place} is read-only", hint=READ_ONLY_HINT)
    if facts.schema is None or not facts.may_create:
        schema = facts.schema or "public"
        raise DatabaseUnsuitable(
            f"role {facts.role} may not make tables in schema {schema} of {place}",
            hint=f'Let the owner of the database run: GRANT USAGE, CREATE ON SCHEMA "{schema}" TO '
            f'"{facts.role}"',
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def register_vectors(connection: Connection, url: str) -> None:
    """Teach a connection to send and read vectors in binary; the extension must exist."""
    with translated(url):
        info = TypeInfo.fetch(connection, "vector")
    if info is None:
        with translated(url):
            require_suitable(server_facts(connection), url)
        raise DatabaseUnsuitable(
            f"pgvector is not installed in {redacted(url)}", hint="Run `ragctl db migrate`."
        )
    register_vector_info(connection, info)
