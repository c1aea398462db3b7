"""A PostgreSQL that is not ours: on a TCP port, behind passwords, with roles of little power."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg

from ragctl.db.connect import Connection
from ragctl.db.programs import Account, account_for, find_programs, run, usable_programs
from ragctl.db.server import PACKAGES

PASSWORD = "s3cret-word"
"""Of every role, the superuser's too: no output may hold it."""

SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 16MB
max_connections = 16
fsync = off
full_page_writes = off
synchronous_commit = off
max_wal_senders = 4
hot_standby = on
"""
_numbers = count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignServer:
    """A running server: where it listens, where its programs and files lie."""

    port: int
    folder: Path
    programs: Path
    account: Account

    def url(self, database: str, role: str = "postgres", *, port: int | None = None) -> str:
        """Return an address with its password."""
        return f"postgresql://{role}:{PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    def administer(self, database: str = "postgres") -> Connection:
        """Connect as the superuser."""
        return psycopg.connect(self.url(database), autocommit=True)

    @contextmanager
    def database(self, *, owner: str = "postgres", options: str = "") -> Iterator[str]:
        """Make a database for the block, with a role of its name and no power that owns nothing.

        ``owner`` may be ``itself``: then that role owns it. Yields the name of both.
        """
        name = f"foreign_{next(_numbers)}"
        owner = name if owner == "itself" else owner
        with self.administer() as connection:
            for command in (
                f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'",
                f"CREATE DATABASE {name} OWNER {owner} TEMPLATE template0 {options}",
            ):
                connection.execute(command.encode())
        try:
            yield name
        finally:
            with self.administer() as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
                with suppress(psycopg.Error):
                    connection.execute(f"DROP ROLE {name}".encode())

    def do(self, database: str, *commands: str) -> None:
        """Run statements as the superuser."""
        with self.administer(database) as connection:
            for command in commands:
                connection.execute(command.encode())


@contextmanager
def foreign_server() -> Iterator[ForeignServer]:
    """Make a server below /tmp for the block and leave nothing of it behind."""
    base = Path(tempfile.mkdtemp(prefix="ragctl-foreign-", dir="/tmp"))
    base.chmod(0o711)
    system, cluster = base / "system", base / "cluster"
    for folder in (system, cluster):
        folder.mkdir(mode=0o711)
    try:
        account = account_for(cluster)
        own(cluster, account)
        programs = usable_programs(find_programs(PACKAGES), account, system).folder
        _make_cluster(cluster, programs, account)
        port = free_port()
        with running(cluster, programs, account, port):
            yield ForeignServer(port=port, folder=base, programs=programs, account=account)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def own(path: Path, account: Account) -> None:
    """Give a file or folder to the account that the server runs as, and to nobody else."""
    if account.uid is not None and account.gid is not None:
        os.chown(path, account.uid, account.gid)
    path.chmod(0o700)


def _make_cluster(cluster: Path, programs: Path, account: Account) -> None:
    password = cluster.with_name("password")
    password.write_text(PASSWORD, encoding="utf-8")
    own(password, account)
    made = run(
        [
            *(programs / "initdb", "--username=postgres", "--auth=scram-sha-256", "--no-sync"),
            *(f"--pwfile={password}", "--encoding=UTF8", "--locale=C", "-D", "."),
        ],
        account=account,
        cwd=cluster,
    )
    assert made.returncode == 0, made.stdout
    with (cluster / "postgresql.conf").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)


@contextmanager
def running(cluster: Path, programs: Path, account: Account, port: int) -> Iterator[None]:
    """Run the server of a cluster for the block."""
    process = subprocess.Popen(
        [programs / "postgres", "-D", cluster, "-p", str(port)],
        cwd=cluster,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=account.uid,
        group=account.gid,
        extra_groups=account.extra_groups,
    )
    try:
        deadline = time.monotonic() + 30
        while not _answers(port):
            assert process.poll() is None and time.monotonic() < deadline, "it does not start"
            time.sleep(0.02)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _answers(port: int) -> bool:
    try:
        psycopg.connect(
            f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres", connect_timeout=2
        ).close()
    except psycopg.OperationalError:
        return False
    return True


def free_port() -> int:
    """Return a TCP port of the loopback address that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
