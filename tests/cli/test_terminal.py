"""Colour, hyperlinks and progress: only on a terminal that wants them; no text is ever lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, chat
from tests.program import Program, run_process
from tests.terminal import run_on_terminal

LINK = "\x1b]8;"


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database, and a stable look."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.on("/api/chat", chat("Die Länge \u2192 12 m ", "[1]."))
    ragctl.set(TERM="xterm-256color", NO_COLOR="", COLUMNS="80")
    return ragctl


def test_a_terminal_gets_hyperlinks_that_open_the_source_file(
    ingested: Program, site: Path
) -> None:
    code, shown = run_on_terminal("ask", "How?", environ={})
    assert code == 0
    assert LINK in shown
    assert f"file://{site}/" in shown
    code, shown = run_on_terminal(
        "ask", "How?", environ={"RAGCTL_SITE__BASE_URL": "https://s.example"}
    )
    assert "https://s.example/" in shown
    assert "file://" not in shown


def test_no_color_means_neither_colour_nor_hyperlink(ingested: Program) -> None:
    code, shown = run_on_terminal("ask", "How?", environ={"NO_COLOR": "1"})
    assert code == 0
    assert LINK not in shown
    assert "\x1b[" not in shown
    assert "Die Länge \u2192 12 m [1]." in shown


def test_a_dumb_terminal_gets_no_escape_at_all(ingested: Program, site: Path) -> None:
    (site / "kernel/10-rcu.md").write_text("Changed.\n")
    for command in (("ask", "How?"), ("sources",), ("ingest", str(site))):
        code, shown = run_on_terminal(*command, environ={"TERM": "dumb"})
        assert code == 0
        assert "\x1b" not in shown


@pytest.mark.parametrize("columns", ["20", "1", "60"])
def test_a_narrow_terminal_loses_no_text(columns: str, ingested: Program) -> None:
    environ = {"COLUMNS": columns, "NO_COLOR": "1", "RAGCTL_SITE__BASE_URL": "https://s.example"}
    for command, wanted in (
        (("ask", "How?"), ("DieLänge\u219212m[1].", "https://s.example/")),
        (("sources",), ("Ratelimiter", "https://s.example/kernel/10-rcu")),
    ):
        code, shown = run_on_terminal(*command, environ=environ)
        assert code == 0
        joined = "".join(shown.split())
        for text in wanted:
            assert text in joined


def test_a_pipe_gets_plain_lines_and_whole_addresses(ingested: Program, site: Path) -> None:
    (site / "kernel/10-rcu.md").write_text("Changed again.\n")
    environ = {"COLUMNS": "30", "RAGCTL_SITE__BASE_URL": "https://s.example"}
    for command in (("ask", "How?"), ("sources",), ("ingest", str(site))):
        done = run_process(*command, environ=environ)
        assert done.returncode == 0
        written = done.stdout + done.stderr
        assert b"\x1b" not in written
        assert b"\r" not in written
    listed = run_process("sources", environ=environ).stdout.decode()
    assert "https://s.example/design/02-queues" in listed


def test_ingest_shows_its_progress_on_a_terminal_and_leaves_the_summary(
    ingested: Program, site: Path
) -> None:
    (site / "kernel/10-rcu.md").write_text("Changed once more.\n")
    code, shown = run_on_terminal("ingest", str(site), environ={})
    assert code == 0
    assert "embed" in shown
    assert "passages/s" in shown
    assert "total" in shown
