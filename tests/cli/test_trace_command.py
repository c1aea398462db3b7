"""``ragctl ask`` leaves a trace, ``ragctl trace`` shows it, and neither harms an answer."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, Request, chat, chat_lines
from tests.program import Program

QUESTION = "How does the bucket refill?"


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.requests.clear()
    return ragctl


def test_an_answer_can_be_looked_at_afterwards(ingested: Program, ollama: OllamaServer) -> None:
    asked = ingested("ask", QUESTION, "--track", "design", "--json").document
    assert asked["trace_id"]
    prompt = ollama.requests_to("/api/chat")[0].body["messages"][-1]["content"]
    shown = ingested("trace", "last", "--prompt")
    assert shown.code == 0, shown.err
    for text in (QUESTION, "ollama/llama3", "ollama/nomic-embed-text", "of design", prompt,
                 "It refills lazily [1].", "embed", "search", "generate", "total",
                 asked["passages"][0]["ref"], "cited", asked["trace_id"]):  # fmt: skip
        assert text in shown.out
    assert prompt not in ingested("trace", "last").out
    document = ingested("trace", "show", asked["trace_id"][:20], "--json", "--prompt").document
    assert document["schema"] == "ragctl.trace/1"
    assert (document["prompt"], document["answer"]) == (prompt, asked["answer"])
    assert [hit["ref"] for hit in document["hits"]] == [p["ref"] for p in asked["passages"]]
    assert [hit["cited"] for hit in document["hits"]] == [True, False]
    assert document["ms"] == asked["ms"]


def test_a_trace_tells_what_found_the_passages_and_where(ingested: Program) -> None:
    page = "/design/01-buckets"
    for flags, mode, told in (
        (("--page", page), "hybrid", f"nomic-embed-text and words (hybrid), 5 passages, of {page}"),
        (("--mode", "vector"), "vector", "ollama/nomic-embed-text (vector), 5 passages"),
        (("--mode", "keyword"), "keyword", "words alone (keyword), 5 passages"),
    ):
        assert ingested("ask", QUESTION, *flags).code == 0
        document = ingested("trace", "last", "--json").document
        assert (document["mode"], document["pages"]) == (mode, [page] if page in flags else [])
        assert told in ingested("trace", "last").out
    assert ingested("ask", "How many pages are there?").code == 0
    assert ingested("trace", "last", "--json").document["mode"] is None
    assert "found by    the list of pages" in ingested("trace", "last").out
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    assert ingested("ask", QUESTION).code == 0
    modes = [trace["mode"] for trace in ingested("trace", "--json").document["traces"]]
    assert modes == ["keyword", None, "keyword", "vector", "hybrid"]


def test_traces_are_listed_newest_first(ingested: Program) -> None:
    for number in range(3):
        ingested("ask", f"Question {number}?")
    listed = ingested("trace", "list").out.splitlines()
    assert [line.rpartition("Question ")[2] for line in listed[1:]] == ["2?", "1?", "0?"]
    document = ingested("trace", "list", "-n", "2", "--json").document
    assert [trace["question"] for trace in document["traces"]] == ["Question 2?", "Question 1?"]
    assert ingested("trace").out.splitlines() == listed
    for trace in document["traces"]:
        short = next(line for line in listed if trace["question"] in line).split()[2]
        assert ingested("trace", "show", short, "--json").document["id"] == trace["id"]


def test_a_trace_that_is_not_there_or_not_one_is_refused(ingested: Program) -> None:
    assert ingested("trace", "last").code == 3
    assert "ragctl ask" in ingested("trace", "list").err
    ingested("ask", "One?")
    ingested("ask", "Two?")
    for nothing in ("ffff", "", "%", "\udcff"):
        assert ingested("trace", "show", nothing).code == 2
    several = ingested("trace", "show", "0")
    assert several.code == 2
    assert "several traces" in several.err


def test_every_way_an_answer_ends_is_recorded(ingested: Program, ollama: OllamaServer) -> None:
    torn = Reply(packets=chat_lines("At six "), end="reset")
    for reply, outcome, answer in (
        (torn, "incomplete", "At six "),
        (chat("The passages do not say."), "refused", "The passages do not say."),
        (chat("It is \x00 and \x1b[31m here [1]."), "answered", None),
        (chat("Cut [1] he", done_reason="length"), "answered", "Cut [1] he"),
    ):
        ollama.on("/api/chat", reply)
        asked = ingested("ask", QUESTION)
        assert "Not recorded" not in asked.err
        document = ingested("trace", "last", "--json").document
        assert document["outcome"] == outcome
        assert answer is None or document["answer"] == answer
        assert "\x1b" not in ingested("trace", "last").out
        assert "\0" not in document["answer"]


def test_a_question_without_an_answer_is_recorded_with_how_far_it_came(
    ingested: Program, ollama: OllamaServer
) -> None:
    broken = Reply(status=500, document={"error": "out of memory"})
    for path, reply, came_to_a_prompt in (
        ("/api/chat", broken, True),
        ("/api/chat", chat(""), True),
        ("/api/embed", broken, False),
    ):
        ollama.on(path, reply)
        asked = ingested("ask", QUESTION, "--model", "llama3")
        document = ingested("trace", "last", "--json", "--prompt").document
        assert document["question"] == QUESTION
        assert (document["prompt"] is not None) == came_to_a_prompt
        assert bool(document["hits"]) == came_to_a_prompt
        if asked.code == 5:
            assert document["outcome"].startswith("failed: model")
            assert document["error"]["message"] in asked.err
            assert document["error"]["code"] in ingested("trace", "last").out
        else:
            assert document["answer"] == ""


def test_a_model_server_that_is_down_is_recorded(ingested: Program) -> None:
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    assert ingested("ask", QUESTION, "--mode", "vector").code == 5
    assert ingested("trace", "list", "--json").document["traces"][0]["outcome"] == (
        "failed: model_unreachable"
    )


def test_a_question_that_nobody_was_asked_is_not_recorded(ingested: Program) -> None:
    assert ingested("ask", "").code == 2
    assert ingested("ask", "How?", "--track", "nothing").code == 2
    assert ingested("trace", "list", "--json").document["traces"] == []


def test_numbers_keeps_no_text_and_off_keeps_nothing(ingested: Program, empty_url: str) -> None:
    ingested.set(RAGCTL_TRACES__RECORD="numbers")
    assert ingested("ask", "Secret thing?", "--json").document["trace_id"]
    with connect(empty_url) as connection:
        kept = connection.execute("SELECT traces::text FROM traces").fetchone()
    assert kept is not None
    assert "Secret" not in str(kept[0])
    assert "lazily" not in str(kept[0])
    assert "not kept" in ingested("trace", "last", "--prompt").out
    assert "/design/" in ingested("trace", "last").out
    ingested.set(RAGCTL_TRACES__RECORD="off")
    done = ingested("ask", "Other?", "--json")
    assert done.document["trace_id"] == ""
    assert done.err == ""
    assert len(ingested("trace", "list", "--json").document["traces"]) == 1


def _reader(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    connection.execute(
        "DO $$ BEGIN CREATE ROLE reader_who_asks LOGIN; "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
    connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_who_asks")


def test_a_reader_without_the_right_to_write_gets_the_answer_and_one_remark(
    ingested: Program, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        _reader(connection)
    separator = "&" if "?" in empty_url else "?"
    ingested.set(RAGCTL_DATABASE_URL=f"{empty_url}{separator}user=reader_who_asks")
    done = ingested("ask", QUESTION)
    assert done.code == 0
    assert done.out.startswith("It refills lazily [1].")
    assert done.err.count("Not recorded") == 1
    assert ingested("ask", QUESTION, "--json").document["trace_id"] == ""
    assert ingested("trace", "list").code == 0


@pytest.mark.parametrize(
    "harm",
    [
        "ALTER TABLE traces ADD CHECK (k < 0)",
        "ALTER TABLE spans DROP COLUMN attributes",
        "DROP TABLE traces CASCADE",
    ],
)
def test_a_broken_table_costs_the_trace_and_never_the_answer(
    harm: str, ingested: Program, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute(harm.encode())
    done = ingested("ask", QUESTION)
    assert done.code == 0
    assert "Sources" in done.out
    assert done.err.count("Not recorded") == 1


def test_a_connection_lost_while_the_model_writes_costs_the_trace_alone(
    ingested: Program, ollama: OllamaServer, empty_url: str
) -> None:
    def cut(_request: Request) -> Reply:
        with connect(empty_url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        return chat("It refills lazily ", "[1].")

    ollama.on("/api/chat", cut)
    done = ingested("ask", QUESTION)
    assert done.code == 0, done.err
    assert "Sources" in done.out
    assert done.err.count("Not recorded") == 1


def test_a_table_that_is_locked_does_not_hold_an_answer_up(
    ingested: Program, empty_url: str
) -> None:
    with connect(empty_url) as connection, connection.transaction():
        connection.execute("LOCK TABLE traces IN ACCESS EXCLUSIVE MODE")
        began = time.perf_counter()
        done = ingested("ask", QUESTION)
        assert time.perf_counter() - began < 5
    assert done.code == 0
    assert "Not recorded" in done.err
