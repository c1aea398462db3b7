"""What the faults are tried on: a server that may be killed, a scripted model, the small site."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
from psycopg import sql

from ragctl.db.migrate import migrate
from ragctl.db.server import EmbeddedServer
from ragctl.db.statements import migrations
from tests.ollama_server import Handler, OllamaServer, Reply, Request, chat, embeddings
from tests.soak.site import new_pages, old_pages, write_site

Row: TypeAlias = "dict[str, Any]"
Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
COMPARED_TABLES = ("index_identity", "site", "terms")
_UNSTABLE = "{id,page_id,ingested_at,created_at}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What a database holds: by address the page's row and its passages, then other tables.

    Ids and times are left out: they differ between any two ingests.
    """

    pages: Mapping[str, tuple[Row, tuple[Row, ...]]]
    others: Mapping[str, tuple[Row, ...]]


@dataclass(slots=True)
class ModelGate:
    """Holds embedding requests: the ``after``-th one and later wait until it is opened."""

    after: int = 0
    reply: Handler = embeddings
    arrived: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    seen: int = 0

    def answer(self, request: Request) -> Reply:
        """Answer as a healthy server does, once the gate lets it."""
        self.seen += 1
        if self.after and self.seen >= self.after:
            self.arrived.set()
            self.opened.wait(30)
        return self.reply(request)


class Rig:
    """A throw-away embedded server with its databases, a model server and a content folder.

    The site ``old`` holds the first state of the pages, ``new`` was ingested afresh from their
    second state, which is what lies in ``content`` and what every trial must end with.
    """

    def __init__(self, base: Path, model: OllamaServer, reply: Handler) -> None:
        self._base = base
        self._model = model
        self._reply = reply
        self.content = base / "content"
        self.server = EmbeddedServer(base / "data", system_dir=base / "system")
        self.gate = ModelGate(reply=reply)

    def prepare(self) -> None:
        """Start the server and ingest both states of the site."""
        self.server.ensure_running()
        with self.connect("postgres") as connection:  # only processes are killed, not the machine
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        self._model.on("/api/chat", chat("It refills ", "[1]."))
        self.answer_at_once()
        write_site(self.content, old_pages())
        self._must_ingest("old")
        write_site(self.content, new_pages())
        self._must_ingest("new")
        self.old, self.new = self.stored("old"), self.stored("new")

    def _must_ingest(self, site: str) -> None:
        done = self.run(site, "ingest", str(self.content))
        assert done.returncode == 0, done.stderr.decode()

    # The program

    def start(self, site: str, *arguments: str, quiet: bool = False) -> subprocess.Popen[bytes]:
        """Start ragctl on a site of its own; ``quiet``: its remarks are thrown away."""
        return subprocess.Popen(
            [sys.executable, "-m", "ragctl", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else subprocess.PIPE,
            cwd=self._base,
            env=self._environment(site),
        )

    def run(self, site: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run ragctl to its end."""
        process = self.start(site, *arguments)
        try:
            out, err = process.communicate(timeout=90)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def _environment(self, site: str) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("RAGCTL_")}
        return {
            **kept,
            "RAGCTL_DATA_DIR": str(self._base / "data"),
            "RAGCTL_SITE__NAME": site,
            "RAGCTL_EMBEDDING__BATCH_SIZE": "8",
            "XDG_CONFIG_HOME": str(self._base / "config"),
            "OLLAMA_HOST": self._model.url,
        }

    # The model

    def answer_at_once(self) -> None:
        """Let embedding requests through from now on."""
        self.gate.opened.set()
        self.gate = ModelGate(reply=self._reply)
        self._model.on("/api/embed", self.gate.answer)

    def hold_requests(self, after: int) -> ModelGate:
        """Hold embedding requests from the ``after``-th on."""
        self.answer_at_once()
        self.gate.after = after
        return self.gate

    # The databases

    def connect(self, database: str) -> Connection:
        """Connect to a database as an onlooker."""
        return psycopg.connect(
            self.server.url(database), autocommit=True, application_name="onlooker"
        )

    @contextmanager
    def site(self, name: str, *, like: str | None, steps: int | None = None) -> Iterator[str]:
        """Make a site for the block: a copy of another one, or empty with some migrations."""
        template = f"ragctl_{like}" if like else "template0"
        database = f"ragctl_{name}"
        make, drop = (
            sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'"),
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)"),
        )
        self.server.ensure_running()
        with self.connect("postgres") as connection:
            connection.execute(make.format(sql.Identifier(database), sql.Identifier(template)))
            connection.execute("CHECKPOINT")  # a copied sequence may go back in a crash before it
        try:
            if steps:
                with self.connect(database) as connection:
                    migrate(connection, database, known=migrations()[:steps])
            yield database
        finally:
            self.server.ensure_running()
            with self.connect("postgres") as connection:
                connection.execute(drop.format(sql.Identifier(database)))

    def stored(self, site: str) -> Stored:
        """Return what a site's database holds at one moment."""
        with self.connect(f"ragctl_{site}") as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with connection.transaction():
                rows = _rows(connection, "pages", "p.id", order="p.url")
                passages = _rows(connection, "chunks", "p.page_id", order="p.page_id, p.position")
                others = {
                    table: tuple(row for _, row in _rows(connection, table, "0", order="1, 2"))
                    for table in COMPARED_TABLES
                }
        of_page: dict[int, list[Row]] = {}
        for page_id, row in passages:
            of_page.setdefault(page_id, []).append(row)
        pages = {row["url"]: (row, tuple(of_page.pop(page_id, ()))) for page_id, row in rows}
        assert not of_page, f"passages without a page: {sorted(of_page)}"
        return Stored(pages=pages, others=others)


def _rows(connection: Connection, table: str, key: str, *, order: str) -> list[tuple[int, Row]]:
    there = connection.execute("SELECT to_regclass(%s)", [table]).fetchone()
    if there is None or there[0] is None:
        return []
    query = f"SELECT {key}, to_jsonb(p) - %s::text[] FROM {table} p ORDER BY {order}"
    return connection.execute(query.encode(), [_UNSTABLE]).fetchall()


def wait_until(
    condition: Callable[[], object], *, seconds: float = 20, pause: float = 0.003
) -> bool:
    """Tell whether a condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


@contextmanager
def a_rig(reply: Handler = embeddings) -> Iterator[Rig]:
    """Make a rig below /tmp and leave nothing of it behind; ``reply`` makes the vectors."""
    base = Path(tempfile.mkdtemp(prefix="ragctl-soak-", dir="/tmp"))
    base.chmod(0o711)  # the server's own user must reach its cluster
    with OllamaServer() as model:
        rig = Rig(base, model, reply)
        try:
            rig.prepare()
            yield rig
        finally:
            rig.answer_at_once()
            rig.server.stop()
            shutil.rmtree(base, ignore_errors=True)
