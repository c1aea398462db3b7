"""Answers that break off, run away or are empty, and terminals that hold few characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, Reply, chat, chat_lines
from tests.program import Program, run_process
from tests.terminal import run_on_terminal

ODD_TITLE = "Gr\u00f6\u00dfe \u2192 L\u00e4nge \u2713 \u6f22"


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.requests.clear()
    return ragctl


@pytest.mark.parametrize(
    "reply",
    [
        Reply(packets=[*chat_lines("At six "), b'{"error": "runner died"}\n']),
        Reply(packets=chat_lines("At six ")),
        Reply(packets=chat_lines("At six "), end="reset"),
        Reply(packets=chat_lines("At six "), end="hang"),
    ],
    ids=["error line", "no last line", "reset", "stall"],
)
def test_after_a_failed_answer_the_same_question_is_asked_again_and_its_trace_says_so(
    reply: Reply, ingested: Program, ollama: OllamaServer
) -> None:
    ingested.set(RAGCTL_GENERATION__STALL_SECONDS="0.3")
    ollama.on("/api/chat", reply)
    assert ingested("ask", "When?").code == 7
    assert ingested("trace", "last", "--json").document["finish"] == "torn"
    ollama.on("/api/chat", chat("At seven [1]."))
    assert ingested("ask", "When?").out.startswith("At seven [1].")
    assert len(ollama.requests_to("/api/chat")) == 2


def test_a_loop_is_cut_after_its_first_round_and_its_source_listed_once(
    ingested: Program, ollama: OllamaServer
) -> None:
    looped = chat_lines(*["The rope is changed every quarter [1]. "] * 300)
    ollama.on("/api/chat", Reply(packets=looped))
    done = ingested("ask", "When?")
    assert done.code == 7
    assert "repeat itself" in done.err
    sources = done.out.rpartition("Sources")[2].splitlines()
    assert len([line for line in sources if line.startswith("[")]) == 1
    document = ingested("ask", "When?", "--json").document
    assert document["truncated"] is True
    assert document["answer"] == "The rope is changed every quarter [1]."
    assert [citation["passages"] for citation in document["citations"]] == [[1]]


def test_a_model_that_never_ends_is_left_and_the_run_fails(
    ingested: Program, ollama: OllamaServer
) -> None:
    ingested.set(RAGCTL_GENERATION__NUM_PREDICT="40")
    lines = (chat_lines(f"w{n} ")[0] for n in range(1_000_000))
    ollama.on("/api/chat", Reply(packets=lines))
    done = ingested("ask", "When?")
    assert done.code == 7
    assert "40 tokens" in done.err
    assert ollama.left.wait(5)


def test_an_empty_answer_is_a_failure_of_the_model_and_no_refusal(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat(" ", "\n"))
    done = ingested("ask", "How does the bucket refill?")
    assert done.code == 7
    assert "the model returned no text" in done.err
    assert "cover" not in done.out
    ollama.on("/api/chat", chat("Lazily [1]."))
    assert ingested("ask", "How does the bucket refill?").out.startswith("Lazily [1].")


def test_the_text_of_an_answer_is_shown_as_written_however_it_cites(
    ingested: Program, ollama: OllamaServer
) -> None:
    text = "Open [1, 2] \u30101\u2020source\u3011 [^2] [Source: 1], not [4-9], `x[1]` or (2)."
    ingested.set(RAGCTL_RETRIEVAL__LEAST_SHARE="0")
    ollama.on("/api/chat", chat(*text))
    document = ingested("ask", "When?", "--json").document
    assert document["answer"] == text
    assert sorted(n for c in document["citations"] for n in c["passages"]) == [1, 2]
    assert ingested("ask", "When?").out.startswith(text)


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        {
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONIOENCODING": "ascii",
        },
    ],
    ids=["cp1252", "ascii"],
)
def test_titles_that_a_stream_cannot_hold_fail_no_command_and_survive_in_json(
    environ: dict[str, str], ingested: Program, site: Path, ollama: OllamaServer
) -> None:
    page = f"---\ntitle: {ODD_TITLE}\n---\n# Ma\u00df \U0001f6a2\n\nThe quay is 12 m long.\n"
    (site / "kernel/10-rcu.md").write_text(page, encoding="utf-8")
    ollama.on("/api/chat", chat("12 m \u2713 [1]."))
    for command in (("ingest", str(site)), ("sources",), ("ask", "How long?", "-k", "9")):
        done = run_process(*command, environ=environ)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
    assert b"12 m" in done.stdout and b"[1]" in done.stdout and b"/kernel" in done.stdout
    found = json.loads(run_process("sources", "--json", environ=environ).stdout)
    assert ODD_TITLE in [listed["title"] for listed in found["pages"]]
    found = json.loads(run_process("ask", "How long?", "--json", environ=environ).stdout)
    assert ODD_TITLE in [passage["title"] for passage in found["passages"]]


def test_on_a_terminal_neither_titles_nor_answers_bring_escapes_along(
    ingested: Program, site: Path, ollama: OllamaServer
) -> None:
    evil = '---\ntitle: "R\\eC]8;;https://evil.example\\aU"\n---\nBody \x1b[2J red.\n'
    (site / "kernel/10-rcu.md").write_text(evil)
    ollama.on(
        "/api/chat", chat("Look \x1b]0;owned\x07 here \x1b]8;;https://evil.example\x07x [1].")
    )
    ingested("ingest", str(site))
    environ = {"TERM": "xterm-256color", "NO_COLOR": ""}
    for command in (
        ("ask", "How?", "--track", "kernel", "--show-passages"),
        ("sources",),
        ("ingest", str(site), "--rebuild"),
    ):
        code, shown = run_on_terminal(*command, environ=environ)
        assert code == 0
        for escape in ("\x1b]0;", "\x1b]8;;https://evil", "\x1b[2J", "\x07"):
            assert escape not in shown
