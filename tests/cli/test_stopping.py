"""Ctrl-C and SIGTERM: one line, the documented code, and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragctl.cli.main import LazyGroup
from ragctl.db.connect import connect
from ragctl.models.local import local_available
from tests.ollama_server import OllamaServer, Reply, Request, chat_lines, embeddings
from tests.program import Program


def _start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "ragctl", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _wait_for(condition: object, *, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if callable(condition) and condition():
            return
        time.sleep(0.02)
    raise AssertionError("it never happened")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_a_stopped_ingest_keeps_whole_pages_and_the_next_one_ends_as_if_never_stopped(
    number: signal.Signals,
    code: int,
    ragctl: Program,
    site: Path,
    ollama: OllamaServer,
    empty_url: str,
) -> None:
    for page in range(80):
        (site / f"design/{100 + page}-page.md").write_text(f"Filler text of page {page}.\n")
    answered = 0

    def slow_after_the_first(request: Request) -> Reply:
        nonlocal answered
        answered += 1
        if answered == 2:
            return Reply(end="hang", packets=[])
        return embeddings(request)

    ollama.on("/api/embed", slow_after_the_first)
    ragctl.set(RAGCTL_EMBEDDING__IN_FLIGHT="1")
    process = _start("ingest", str(site))
    _wait_for(lambda: answered == 2)
    began = time.monotonic()
    os.kill(process.pid, number)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert time.monotonic() - began < 5
    assert b"Traceback" not in err
    if number != signal.SIGKILL:
        assert b"Interrupted" in err or b"Stopped" in err  # the latter where it had to be cut off
    ollama.on("/api/embed", embeddings)
    note = ragctl("ask", "How?")
    assert note.code == 3 or "did not finish" in note.err
    assert ragctl("ingest", str(site)).code == 0
    with connect(empty_url) as connection:
        rows = connection.execute("SELECT url, count(*) FROM chunks GROUP BY url").fetchall()
    assert len(rows) == 83
    assert {count for _url, count in rows} == {1}
    assert "did not finish" not in ragctl("ask", "How?").err


def test_ctrl_c_while_an_answer_streams_ends_with_130(
    ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ragctl("ingest", str(site))
    ollama.on("/api/chat", Reply(packets=chat_lines("It begins "), end="hang"))
    process = _start("ask", "How?")
    _wait_for(lambda: ollama.requests_to("/api/chat"))
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out.startswith(b"It begins")
    assert b"Traceback" not in err


def _stopped(process: subprocess.Popen[bytes]) -> bytes:
    """Press Ctrl-C and return what is said; it ends at once, with 130."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 3
    assert b"Traceback" not in err
    return err


def test_ctrl_c_while_another_ingest_is_waited_for_ends_with_one_line(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    with connect(empty_url) as connection:
        connection.execute(
            "INSERT INTO ingest_lease (owner, host, pid, expires_at) "
            "VALUES ('other', 'elsewhere', 1, now() + interval '1 hour')"
        )
    process = _start("ingest", str(site), "--wait")
    assert process.stderr is not None
    assert b"Waiting for another ingest" in process.stderr.readline()
    assert _stopped(process) == b"Stopped.\n"


def _waiting_backend(url: str) -> int | None:
    with connect(url) as connection:
        row = connection.execute(
            "SELECT pid FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    return row[0] if row else None


@pytest.mark.parametrize("table", ["chunks", "ingest_runs", "ingest_lease"])
def test_ctrl_c_while_a_statement_waits_ends_with_one_line(
    table: str, ragctl: Program, site: Path, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    with connect(empty_url) as connection, connection.transaction():
        connection.execute(f"LOCK TABLE {table}".encode())
        process = _start("ingest", str(site))
        _wait_for(lambda: _waiting_backend(empty_url))
        assert len(_stopped(process).splitlines()) == 1
    assert ragctl("ingest", str(site)).code == 0


def test_ctrl_c_while_the_server_is_frozen_ends_with_one_line(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    ragctl("ingest", str(site))
    with connect(empty_url) as connection, connection.transaction():
        connection.execute("LOCK TABLE pages")
        process = _start("ingest", str(site))
        _wait_for(lambda: _waiting_backend(empty_url))
        backend = _waiting_backend(empty_url)
        assert backend is not None
        os.kill(backend, signal.SIGSTOP)
        try:
            assert _stopped(process) == b"Stopped.\n"
        finally:
            os.kill(backend, signal.SIGCONT)
    assert ragctl("ingest", str(site)).code == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_before_the_command_is_found_is_told_and_has_its_own_code(
    number: signal.Signals, code: int, ragctl: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def struck(*_arguments: object) -> list[str]:
        os.kill(os.getpid(), number)
        return []

    monkeypatch.setattr(LazyGroup, "parse_args", struck)
    done = ragctl("sources")
    assert (done.code, done.err) == (code, "Stopped.\n")


@pytest.mark.model
@pytest.mark.skipif(not local_available().usable, reason=local_available().reason)
def test_ctrl_c_while_the_embedded_model_works_ends_with_one_line(
    ragctl: Program, site: Path, empty_url: str
) -> None:
    for page in range(60):
        words = " ".join(f"word{page} {number}" for number in range(100))
        (site / f"design/{100 + page}-page.md").write_text(words)
    ragctl.set(RAGCTL_EMBEDDING__PROVIDER="local", RAGCTL_EMBEDDING__BATCH_SIZE="8")
    ragctl("db", "migrate")
    process = _start("ingest", str(site))
    with connect(empty_url) as connection:
        some = "SELECT FROM embedding_cache LIMIT 1"
        _wait_for(lambda: connection.execute(some).fetchone() is not None, seconds=60)
    err = _stopped(process)
    assert err.splitlines()[-1].startswith((b"Interrupted: ", b"Stopped."))
    assert err.count(b"Interrupted: ") + err.count(b"Stopped.") == 1
