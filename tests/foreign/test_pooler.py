"""PgBouncer in transaction mode: whatever a session keeps may be another's a moment later."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.foreign.conftest import Field
from tests.foreign.server import PASSWORD, ForeignServer, free_port, own

PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


@contextmanager
def pooling(server: ForeignServer, role: str, folder: Path) -> Iterator[int]:
    """Run a pooler with two sessions a database for the block; yields its port."""
    assert PROGRAM is not None
    port = free_port()
    settings = {
        **{"listen_addr": "127.0.0.1", "listen_port": port, "unix_socket_dir": ""},
        **{"auth_type": "plain", "auth_file": folder / "users", "pool_mode": "transaction"},
        **{"default_pool_size": 2, "logfile": folder / "log", "pidfile": folder / "pid"},
    }
    lines = [f"{name} = {value}" for name, value in settings.items()]
    pools = f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\n"
    files = {"settings": pools + "\n".join(lines), "users": f'"{role}" "{PASSWORD}"\n'}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
        own(folder / name, server.account)
    process = subprocess.Popen(
        [PROGRAM, "--quiet", folder / "settings"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=server.account.uid,
        group=server.account.gid,
        extra_groups=server.account.extra_groups,
    )
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                psycopg.connect(server.url(role, role, port=port)).close()
                break
            except psycopg.OperationalError:
                assert process.poll() is None and time.monotonic() < deadline, "no pooler"
                time.sleep(0.02)
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")
def test_everything_works_through_a_pooler_in_transaction_mode(plain: Field) -> None:
    server = plain.server
    folder = server.folder / "pooler"
    folder.mkdir()
    own(folder, server.account)
    with server.database(owner="itself") as role:
        server.do(role, "CREATE EXTENSION vector")
        direct = server.url(role, role)
        with pooling(server, role, folder) as port:
            url = server.url(role, role, port=port)
            assert plain.ingest(url).code == 0
            assert plain.ingest(url, "--rebuild").code == 0
            for number in range(7):  # the driver prepares what it has sent five times
                plain.write({"design/02-queues.md": f"# Queues\n\nChanged {number} times.\n"})
                assert plain.ingest(url).code == 0
            with ThreadPoolExecutor(6) as several:
                limits = {"RAGCTL_LIMITS__GENERATIONS": "2", "RAGCTL_CACHE__ANSWERS": "off"}
                asked = [several.submit(plain.ask, url, **limits) for _ in range(6)]
                ingested = several.submit(plain.ingest, url, "--rebuild")
                said = [(each.result().code, each.result().out[:22]) for each in asked]
            assert said == [(0, "It refills lazily [1].")] * 6
            assert ingested.result().code == 0
            spoiling = plain.ragctl(url, "db", "dump", str(plain.folder / "pooled.dump"))
            assert spoiling.code == 4
            assert "is a pooler" in spoiling.err
            dump = str(plain.folder / "site.dump")
            assert plain.ragctl(direct, "db", "dump", dump).code == 0
            assert plain.ragctl(url, "db", "restore", dump, "--replace").code == 0
            for _ in range(3):  # the session that restored is handed on
                assert plain.ask(url, "--no-cache").code == 0
            with server.administer(role) as connection:
                assert connection.execute("SELECT count(*) FROM generation_slots").fetchone() == (
                    0,
                )
        gone = plain.ask(url)
        assert gone.code == 4
        assert "Connection refused" in gone.err
