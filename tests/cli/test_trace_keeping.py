"""``ragctl trace list`` with filters, ``export`` and ``purge``, and what goes by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, chat
from tests.program import Program

QUESTION = "How does the bucket refill?"


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


def _questions(program: Program, *flags: str) -> list[str | None]:
    found = program("trace", "list", *flags, "--json")
    assert found.code == 0, found.err
    return [trace["question"] for trace in found.document["traces"]]


def _age(url: str, question: str, days: int) -> None:
    with connect(url) as connection:
        connection.execute(
            "UPDATE traces SET asked_at = asked_at - make_interval(days => %s) WHERE question = %s",
            (days, question),
        )


def _ask(program: Program, *questions: str) -> None:
    for question in questions:
        program("ask", question)


def test_the_tree_shows_each_step_inside_60_columns_and_nothing_that_was_asked(
    ingested: Program, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ollama.on("/api/chat", chat("It refills ", "lazily [1].", prompt_eval_count=77))
    assert ingested("ask", QUESTION, "--track", "design").code == 0
    spans = ingested("trace", "last", "--json").document["spans"]
    names = ["ask", "embed", "search", "evidence", "render", "generate", "attempt", "check"]
    assert [span["name"] for span in spans] == names
    assert [span["parent"] for span in spans] == [None, 0, 0, 0, 0, 0, 5, 0]
    told = {span["name"]: span["attributes"] for span in spans}
    assert told["embed"] == {"model": "ollama/nomic-embed-text"}
    assert told["search"]["mode"] == "hybrid"
    assert told["search"]["tracks"] == ["design"]
    assert told["render"]["passages"] >= 1
    assert told["attempt"]["outcome"] == "answered"
    assert told["attempt"]["prompt_tokens"] == 77
    assert 0 < told["attempt"]["first_token_ms"] <= spans[6]["duration_ms"] + 0.1
    assert told["check"]["claims"] == 1
    assert "bucket" not in json.dumps(spans)
    assert "lazily" not in json.dumps(spans)
    for span in spans[1:]:
        around = spans[span["parent"]]
        assert span["start_ms"] >= around["start_ms"] - 0.1
        ends = span["start_ms"] + span["duration_ms"]
        assert ends <= around["start_ms"] + around["duration_ms"] + 0.2
    shown = ingested("trace", "last").out
    for line in ("\nask ", "\n  search ", "\n    attempt "):
        assert line in shown


def test_a_question_from_the_list_of_pages_has_one_step(ingested: Program) -> None:
    assert ingested("ask", "How many pages are there?").code == 0
    spans = ingested("trace", "last", "--json").document["spans"]
    assert [(span["name"], span["parent"]) for span in spans] == [("ask", None), ("catalogue", 0)]


def test_a_failure_tells_how_far_it_came_and_what_each_attempt_met(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", Reply(status=500, document={"error": "out of memory"}))
    assert ingested("ask", QUESTION, "--model", "llama3").code == 5
    spans = ingested("trace", "last", "--json").document["spans"]
    assert spans[-1]["name"] == "attempt"
    assert spans[-1]["attributes"]["outcome"] == "http 500"
    assert spans[0]["attributes"]["error_code"].startswith("model")


def test_lists_are_narrowed_by_kind_and_by_time(
    ingested: Program, ollama: OllamaServer, empty_url: str
) -> None:
    _ask(ingested, "Plain?", "Old?")
    _age(empty_url, "Old?", 9)
    ollama.on("/api/chat", chat("The passages do not say."))
    _ask(ingested, "Refused?")
    ollama.on("/api/chat", chat("It cites nothing at all here."))
    _ask(ingested, "Flagged?")
    ollama.on("/api/chat", Reply(status=500, document={"error": "no"}))
    ingested("ask", "Failed?", "--model", "llama3")
    with connect(empty_url) as connection:
        connection.execute("UPDATE traces SET problems = '[]' WHERE question IN ('Plain?', 'Old?')")
        connection.execute("UPDATE traces SET total_ms = 20000 WHERE question = 'Plain?'")
    everything = ["Failed?", "Flagged?", "Refused?", "Old?", "Plain?"]
    assert _questions(ingested) == everything
    assert _questions(ingested, "--refused") == ["Refused?"]
    assert "Flagged?" in _questions(ingested, "--flagged")
    assert "Plain?" not in _questions(ingested, "--flagged")
    assert _questions(ingested, "--failed") == ["Failed?"]
    assert _questions(ingested, "--slow") == ["Plain?"]
    assert _questions(ingested, "--slow", "15000") == ["Plain?"]
    assert _questions(ingested, "--slow=30000") == []
    assert _questions(ingested, "--slow", "--failed") == ["Failed?", "Plain?"]
    assert _questions(ingested, "--since", "7d") == [one for one in everything if one != "Old?"]
    assert _questions(ingested, "--limit", "2") == everything[:2]
    for wrong in (("--since", "soon"), ("--slow", "1x")):
        assert ingested("trace", "list", *wrong).code == 2


def _exported(program: Program, *flags: str) -> Sequence[dict[str, object]]:
    done = program("trace", "export", *flags)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_traces_are_exported_a_line_each(ingested: Program, tmp_path: Path) -> None:
    _ask(ingested, "One?", "Two?")
    lines = _exported(ingested)
    assert [line["question"] for line in lines] == ["Two?", "One?"]
    assert lines[0]["schema"] == "ragctl.trace/1"
    assert lines[0]["prompt"]
    spans = _exported(ingested, "--format", "otlp-json")
    assert [list(line) for line in spans] == [["resourceSpans"], ["resourceSpans"]]
    assert "Two?" not in json.dumps(spans)
    file = tmp_path / "out" / "traces.jsonl"
    written = ingested("trace", "export", "--since", "1h", "--output", str(file))
    assert (written.code, written.out) == (0, "")
    assert "2 traces" in written.err
    assert [json.loads(line) for line in file.read_text().splitlines()] == lines
    assert _exported(ingested, "--since", "2999-01-01") == []
    assert ingested("trace", "export", "--output", str(tmp_path)).code == 2


def test_a_closed_pipe_ends_an_export_quietly(ingested: Program, empty_url: str) -> None:
    _ask(ingested, "One?")
    with connect(empty_url) as connection:
        connection.execute(
            "INSERT INTO traces SELECT (json_populate_record(t, json_build_object("
            "'id', t.id || n))).* FROM traces t, generate_series(1, 3000) n"
        )
    command = f"{sys.executable} -m ragctl trace export --database-url '{empty_url}' | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert json.loads(done.stdout)["question"] == "One?"


def test_purging_says_how_many_and_does_nothing_without_consent(
    ingested: Program, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ask(ingested, "Old?", "New?")
    _age(empty_url, "Old?", 40)
    monkeypatch.setattr("os.isatty", lambda _number: False)
    asked = ingested("trace", "purge", "--older-than", "30d")
    assert asked.code == 2
    assert "Remove 1 trace" in asked.err
    assert "--yes" in asked.err
    assert _questions(ingested) == ["New?", "Old?"]
    emptied = ingested("trace", "purge", "--older-than", "30d", "--texts", "--yes")
    assert "texts of 1 trace" in emptied.out
    assert _questions(ingested) == ["New?", None]
    removed = ingested("trace", "purge", "--older-than", "30d", "--yes")
    assert "removed 1 trace" in removed.out
    assert "nothing to remove" in ingested("trace", "purge", "--older-than", "30d", "--yes").err
    assert "removed 1 trace" in ingested("trace", "purge", "--all", "--yes").out
    assert _questions(ingested) == []
    for wrong in (("--all", "--older-than", "1d"), ("--older-than", "long")):
        assert ingested("trace", "purge", *wrong, "--yes").code == 2


def test_purging_without_an_age_does_what_the_settings_say(
    ingested: Program, empty_url: str
) -> None:
    _ask(ingested, "Ancient?", "Old?", "New?")
    _age(empty_url, "Ancient?", 100)
    _age(empty_url, "Old?", 40)
    done = ingested("trace", "purge", "--yes")
    assert done.out.splitlines() == ["removed 1 trace", "removed the texts of 1 trace"]
    assert _questions(ingested) == ["New?", None]
    ingested.set(RAGCTL_TRACES__KEEP_DAYS="0", RAGCTL_TRACES__KEEP_TEXT_DAYS="0")
    assert "nothing to remove" in ingested("trace", "purge", "--yes").err


def test_an_answer_takes_old_traces_along(ingested: Program, empty_url: str) -> None:
    ingested.set(RAGCTL_TRACES__RECORD="on")
    _ask(ingested, "Ancient?")
    _age(empty_url, "Ancient?", 100)
    with connect(empty_url) as connection:
        connection.execute("UPDATE trace_upkeep SET rests_until = '-infinity'")
    _ask(ingested, "New?")
    assert _questions(ingested) == ["New?"]


def test_a_sample_of_nothing_keeps_the_numbers_of_ordinary_answers_and_texts_of_the_rest(
    ingested: Program, ollama: OllamaServer
) -> None:
    ingested.set(RAGCTL_TRACES__SAMPLE="0")
    _ask(ingested, QUESTION)
    document = ingested("trace", "last", "--json", "--prompt").document
    assert (document["question"], document["prompt"], document["answer"]) == (None, None, None)
    assert document["ms"]["total"] > 0
    assert "not kept" in ingested("trace", "last").out
    ollama.on("/api/chat", chat("The passages do not say."))
    _ask(ingested, "Refused?")
    assert _questions(ingested) == ["Refused?", None]
    ingested.set(RAGCTL_TRACES__SLOW_MS="0.001", RAGCTL_TRACES__SAMPLE="0")
    ollama.on("/api/chat", chat("It refills lazily [1]."))
    _ask(ingested, QUESTION)
    assert _questions(ingested)[0] == QUESTION
