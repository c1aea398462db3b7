"""Fixtures: one embedded server a session, one cloned database a test, the real site if present."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.migrate import migrate
from ragctl.db.server import EmbeddedServer

_REPOSITORY = Path(__file__).resolve().parent.parent
_SHARED = Path(os.environ.get("RAGCTL_TEST_SHARED", _REPOSITORY.parent / "shared"))
_ABSENT = "the real site and cases are not beside this checkout"
_numbers = count(1)


@pytest.fixture(scope="session")
def corpus_site() -> Path:
    """The content folder of the real site; skips where it is absent."""
    site = _SHARED / "corpus" / "site" / "src" / "content"
    if not site.is_dir():
        pytest.skip(_ABSENT)
    return site


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """The folder of field failures; skips where it is absent."""
    cases = _SHARED / "cases"
    if not cases.is_dir():
        pytest.skip(_ABSENT)
    return cases


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    """A data directory for the embedded server of this session, short and reachable by all."""
    base = Path(tempfile.mkdtemp(prefix="ragctl-tests-"))
    base.chmod(0o711)
    folder = base / "data"
    yield folder
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="session")
def server(data_dir: Path) -> Iterator[EmbeddedServer]:
    """The embedded server of this session, running."""
    server = EmbeddedServer(data_dir, system_dir=data_dir.parent / "system")
    server.ensure_running()
    with connect(server.url("postgres")) as connection:  # nothing here has to survive a crash
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def template(server: EmbeddedServer) -> str:
    """The name of a migrated database that tests are cloned from."""
    _create(server, "template_migrated", "template0")
    url = server.url("template_migrated")
    with connect(url) as connection:
        migrate(connection, url)
    return "template_migrated"


@pytest.fixture
def empty_url(server: EmbeddedServer) -> Iterator[str]:
    """The address of an empty database of this test's own."""
    yield from _temporary(server, "template0")


@pytest.fixture
def migrated_url(server: EmbeddedServer, template: str) -> Iterator[str]:
    """The address of a migrated, empty database of this test's own."""
    yield from _temporary(server, template)


@pytest.fixture
def database(migrated_url: str) -> Iterator[Database]:
    """A migrated, empty database of this test's own, open."""
    with Database.over(connect(migrated_url), migrated_url) as opened:
        yield opened


def _temporary(server: EmbeddedServer, template: str) -> Iterator[str]:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    _create(server, name, template)
    yield server.url(name)
    with connect(server.url("postgres")) as connection:
        drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        connection.execute(drop.format(sql.Identifier(name)))


def _create(server: EmbeddedServer, name: str, template: str) -> None:
    with connect(server.url("postgres")) as connection:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))


@pytest.fixture
def connection(migrated_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A plain connection to a migrated database, for looking at rows."""
    with connect(migrated_url) as opened:
        yield opened
