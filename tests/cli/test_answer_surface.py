"""What a user sees of an answer: own prompts, phases, strict citations, markdown on a terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, Reply, chat, chat_lines
from tests.program import Program, run_process
from tests.terminal import run_on_terminal

OWN = "Answer in one word.\nstruct { int a; };\n{passages}\nAsked: {question}\n"
GOOD = "The token bucket refills lazily, when a request arrives [1]."
BAD = "The token bucket holds 9,000 tokens [1]."


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.requests.clear()
    return ragctl


def _sent(ollama: OllamaServer) -> str:
    sent: str = ollama.requests_to("/api/chat")[-1].body["messages"][-1]["content"]
    return sent


def test_a_prompt_of_ones_own_is_sent_and_recorded_by_name_and_hash(
    ingested: Program, ollama: OllamaServer
) -> None:
    (ingested.folder / "mine.txt").write_text(OWN)
    assert ingested("ask", "How does it refill?", "--prompt", "mine.txt").code == 0
    assert _sent(ollama).startswith("Answer in one word.\nstruct { int a; };\n[1] (page: ")
    assert _sent(ollama).endswith("Asked: How does it refill?")
    template = ingested("trace", "last", "--json").document["template"]
    assert template.startswith("file:mine.txt/") and len(template) == len("file:mine.txt/") + 8


def test_the_path_of_a_prompt_in_a_settings_file_starts_at_its_folder(
    ingested: Program, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ingested.folder / "mine.txt").write_text(OWN)
    (ingested.folder / "ragctl.toml").write_text('[generation]\nprompt = "mine.txt"\n')
    below = ingested.folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert ingested("ask", "How?").code == 0
    assert _sent(ollama).startswith("Answer in one word.")
    assert ingested("ask", "How?", "--prompt", "strict").code == 0
    assert "The passages do not say." in _sent(ollama)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{passages} alone", "lacks {question}"),
        ("{passages} {question} " + "words and " * 900, "over-long"),
        (None, "is not there"),
    ],
)
def test_a_prompt_that_cannot_be_used_asks_no_model(
    text: str | None, words: str, ingested: Program, ollama: OllamaServer
) -> None:
    if text is not None:
        (ingested.folder / "mine.txt").write_text(text)
    done = ingested("ask", "How?", "--prompt", "mine.txt")
    assert done.code == 2
    assert words in done.err and "mine.txt" in done.err
    assert ollama.requests == []


def test_verbose_tells_phases_tokens_and_rates_on_stderr_and_changes_nothing_else(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on(
        "/api/chat",
        chat(
            "It refills lazily [1].",
            prompt_eval_count=500,
            prompt_eval_duration=2_000_000_000,
            eval_count=40,
            eval_duration=4_000_000_000,
        ),
    )
    ingested.set(RAGCTL_RETRIEVAL__LEAST_SHARE="0.65")
    quiet = ingested("ask", "How does it refill?")
    told = ingested("ask", "How does it refill?", "-v")
    assert told.out == quiet.out
    for text in (
        "embed",
        "search",
        "3 passages, 1 in the prompt",
        "first token",
        "tokens by our count, the server: 500 tokens, 250.0 tokens/s",
        "40 tokens, 10.0 tokens/s",
        "check",
        "1 statement",
        "ollama/llama3: answered",
    ):
        assert text in told.err
        assert text not in quiet.err
    document = ingested("ask", "How does it refill?", "--verbose", "--json")
    assert document.document["schema"] == "ragctl.answer/1"
    assert "first token" in document.err


def test_strict_citations_leave_out_what_has_no_support_and_say_how_much(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat(f"{GOOD} ", BAD))
    question = ("ask", "How does the token bucket refill?")
    assert BAD in ingested(*question).out
    done = ingested(*question, "--strict-citations")
    assert done.code == 0
    assert done.out.splitlines()[0] == GOOD
    assert "9,000" not in done.out + done.err
    assert "1 statement was left out" in done.err
    document = ingested(*question, "--strict-citations", "--json").document
    assert document["answer"] == f"{GOOD} {BAD}"
    assert document["answer_strict"] == GOOD
    assert document["left_out"] == [BAD]
    ingested.set(RAGCTL_CHECKS__STRICT_CITATIONS="true")
    assert "9,000" not in ingested(*question).out
    assert BAD in ingested(*question, "--no-strict-citations").out


def test_a_strict_answer_of_which_nothing_is_left_is_a_refusal(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat(BAD))
    done = ingested("ask", "How does the token bucket refill?", "--strict-citations")
    assert done.code == 0
    assert done.out.splitlines()[0] == "The passages bear out no statement of the answer."
    assert "Nearest pages" in done.out and "Sources" not in done.out
    assert ingested("trace", "last", "--json").document["refused"]


def test_without_the_flag_json_has_the_strict_fields_empty(ingested: Program) -> None:
    document = ingested("ask", "How?", "--json").document
    assert document["answer_strict"] is None
    assert document["left_out"] == []


def test_a_terminal_shows_markdown_and_a_pipe_the_text_as_it_was_written(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat("It is **lazy** ", "[1]:\n\n- one [1]\n", "- `two` [1]\n"))
    ingested.set(TERM="xterm-256color", NO_COLOR="", COLUMNS="60")
    code, shown = run_on_terminal("ask", "How?", environ={})
    assert code == 0
    assert "**lazy**" not in shown and "lazy" in shown
    assert "• " in shown and "[1]" in shown
    for environ in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        code, shown = run_on_terminal("ask", "How?", environ=environ)
        assert "It is **lazy** [1]:\r\n\r\n- one [1]\r\n- `two` [1]" in shown
        assert "\x1b" not in shown
    piped = run_process("ask", "How?").stdout.decode()
    assert piped.startswith("It is **lazy** [1]:\n\n- one [1]\n- `two` [1]\n")


def test_ctrl_c_in_an_answer_leaves_what_was_written_and_a_sane_terminal(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", Reply(packets=chat_lines("The **first** words ")[:1], end="hang"))
    ingested.set(TERM="xterm-256color", NO_COLOR="", COLUMNS="60")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ragctl", "ask", "How?"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    written = b""
    try:
        while b"words" not in written:
            written += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=30) == 130
    assert b"\x1b[?25l" not in written and b"\x1b[?1049h" not in written
    assert written.decode().endswith("words\r\nStopped.\r\n")
