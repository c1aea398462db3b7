"""Ctrl-C and SIGTERM: one line, the documented code, and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragctl.db.connect import connect
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
        assert b"of 85 pages stored" in err or b"Interrupted" in err
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
