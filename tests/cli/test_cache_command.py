"""Answers and vectors of questions that are kept: given again while they hold, and never else."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import psycopg
import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, Request, chat, chat_lines
from tests.program import Program, run_process

QUESTION = "How does the token bucket refill?"
OTHER = "What does a full queue do with new work?"


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with its caches on and the small site in its database."""
    ragctl.set(RAGCTL_CACHE__ANSWERS="on", RAGCTL_CACHE__EMBEDDINGS="on")
    ollama.on("/api/chat", _reply)
    assert ragctl("ingest", str(site)).code == 0
    ollama.requests.clear()
    return ragctl


def _reply(request: Request) -> Reply:
    """Answer as the passages do, so that nothing is wrong with it."""
    asked = str(request.body["messages"][-1]["content"]).rpartition("Question")[2]
    is_other = "queue" in asked
    return (
        chat("A full queue refuses new work ", "at once [1].")
        if is_other
        else chat("It refills lazily ", "[1].")
    )


def _written(ollama: OllamaServer) -> int:
    return len(ollama.requests_to("/api/chat"))


def _is_cached(program: Program, *arguments: str) -> bool:
    done = program("ask", *arguments, "--json")
    assert done.code == 0, done.err
    return bool(done.document["cached"])


def test_a_question_asked_again_gets_the_same_answer_without_a_model(
    ingested: Program, ollama: OllamaServer
) -> None:
    first = ingested("ask", QUESTION, "--json").document
    ollama.requests.clear()
    again = ingested("ask", "  how does the TOKEN bucket   refill ", "--json").document
    assert ollama.requests == []
    assert (first["cached"], again["cached"]) == (False, True)
    for same in ("answer", "citations", "claims", "evidence", "passages", "problems", "route"):
        assert again[same] == first[same]
    assert again["age_seconds"] >= 0
    assert again["cached_at"]
    assert again["question"] == "how does the TOKEN bucket   refill"
    assert again["attempts"][0]["route"] == "cache"
    assert again["trace_id"] not in ("", first["trace_id"])


def test_a_reader_is_told_that_an_answer_was_written_before_and_when(ingested: Program) -> None:
    first = ingested("ask", QUESTION)
    again = ingested("ask", QUESTION)
    assert "From the cache" not in first.err
    assert "From the cache, 0 seconds old; --refresh writes it anew." in again.err
    assert again.out == first.out
    prompt = ingested("ask", QUESTION, "--show-prompt", "--show-passages")
    assert "From the cache" in prompt.err
    assert "Rules:" in prompt.out
    assert "refills lazily, when a request arrives" in prompt.out


def test_a_cached_answer_is_shown_as_a_new_one_would_be(ingested: Program) -> None:
    for flags in ((), ("--strict-citations",), ("--verbose",)):
        first = ingested("ask", QUESTION, "--refresh", *flags)
        again = ingested("ask", QUESTION, *flags)
        assert (again.code, again.out) == (first.code, first.out)
        assert "From the cache" in again.err
    assert "cache: answered" in again.err
    strict = ingested("ask", QUESTION, "--strict-citations", "--json").document
    assert strict["cached"]
    assert strict["answer_strict"] == strict["answer"]


def test_an_answer_that_was_not_cleaned_is_none_to_a_strict_reader(ingested: Program) -> None:
    ingested("ask", QUESTION)
    assert not _is_cached(ingested, QUESTION, "--strict-citations")
    assert _is_cached(ingested, QUESTION)


def test_a_cached_answer_leaves_a_trace_of_its_own(ingested: Program) -> None:
    for _ in range(2):
        ingested("ask", QUESTION)
    newest, oldest = ingested("trace", "--json").document["traces"]
    assert (newest["cached"], oldest["cached"]) == (True, False)
    assert newest["route"] == oldest["route"]
    shown = ingested("trace", "last")
    assert "from the cache" in shown.out
    assert QUESTION in shown.out
    document = ingested("trace", "last", "--json").document
    assert document["mode"] == "hybrid"
    assert [span["name"] for span in document["spans"]] == ["ask", "cache"]


def test_an_edited_page_drops_exactly_the_answers_that_used_it(
    ingested: Program, site: Path
) -> None:
    ingested("ask", QUESTION, "--page", "/design/01-buckets")
    ingested("ask", OTHER, "--page", "/design/02-queues")
    page = site / "design" / "02-queues.md"
    page.write_text(page.read_text() + "\nSince 2024 it waits instead.\n")
    assert ingested("ingest", str(site)).code == 0
    assert _is_cached(ingested, QUESTION, "--page", "/design/01-buckets")
    assert not _is_cached(ingested, OTHER, "--page", "/design/02-queues")
    assert _is_cached(ingested, OTHER, "--page", "/design/02-queues")
    counted = {
        one["name"]: one["counted"]
        for one in ingested("cache", "status", "--json").document["counters"]
    }
    assert counted["answers dropped: passages changed"] == 1


def test_a_refusal_is_asked_anew_after_any_change_of_content(
    ingested: Program, site: Path, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat("The passages do not say."))
    page = ("--page", "/design/01-buckets")
    assert ingested("ask", QUESTION, *page, "--json").document["refused"]
    assert _is_cached(ingested, QUESTION, *page)
    (site / "kernel" / "12-new.md").write_text("# New\n\nA bucket refills at noon.\n")
    assert ingested("ingest", str(site)).code == 0
    assert not _is_cached(ingested, QUESTION, *page)
    (site / "kernel" / "12-new.md").unlink()
    assert ingested("ingest", str(site)).code == 0
    assert not _is_cached(ingested, QUESTION, *page)


@pytest.mark.parametrize(
    "change",
    [
        {"RAGCTL_RETRIEVAL__K": "4"},
        {"RAGCTL_RETRIEVAL__MODE": "vector"},
        {"RAGCTL_GENERATION__PROMPT": "strict"},
        {"RAGCTL_GENERATION__NUM_PREDICT": "100"},
        {"RAGCTL_SITE__BASE_URL": "https://site.example"},
    ],
)
def test_what_changes_an_answer_makes_the_earlier_one_unreachable(
    change: dict[str, str], ingested: Program
) -> None:
    ingested("ask", QUESTION)
    assert _is_cached(ingested, QUESTION)
    ingested.set(**change)
    assert not _is_cached(ingested, QUESTION)


def test_filters_belong_to_the_question(ingested: Program) -> None:
    ingested("ask", QUESTION)
    assert not _is_cached(ingested, QUESTION, "--track", "design")
    assert not _is_cached(ingested, QUESTION, "--page", "/design/01-buckets")
    assert _is_cached(ingested, QUESTION, "--track", "design")


def test_another_index_makes_answers_unreachable(ingested: Program, site: Path) -> None:
    ingested("ask", QUESTION)
    assert _is_cached(ingested, QUESTION)
    ingested.set(RAGCTL_CHUNKING__CHUNKER="fixed")
    assert ingested("ingest", str(site), "--rebuild").code == 0
    assert not _is_cached(ingested, QUESTION)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(packets=chat_lines("It refills "), end="reset"),
        chat("It refills [1] and", done_reason="length"),
        chat("It refills lazily."),
        chat("It refills [9]."),
        chat(""),
    ],
    ids=["torn", "cut", "uncited", "cites nothing", "empty"],
)
def test_an_answer_with_anything_wrong_is_never_kept(
    reply: Reply, ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", reply)
    ingested("ask", QUESTION)
    assert ingested("cache", "status", "--json").document["answers"]["entries"] == 0


def test_an_answer_without_a_model_is_never_kept(ingested: Program) -> None:
    ingested.set(RAGCTL_GENERATION__PROVIDER="extractive")
    assert ingested("ask", QUESTION, "--json").document["degraded"]
    assert ingested("ask", "How many pages are there?").code == 0
    assert ingested("cache", "status", "--json").document["answers"]["entries"] == 0


def test_no_cache_neither_reads_nor_keeps(ingested: Program, ollama: OllamaServer) -> None:
    assert not _is_cached(ingested, QUESTION, "--no-cache")
    document = ingested("cache", "status", "--json").document
    assert (document["answers"]["entries"], document["embeddings"]["entries"]) == (0, 0)
    ingested("ask", QUESTION)
    assert not _is_cached(ingested, QUESTION, "--no-cache")
    both = ingested("ask", QUESTION, "--no-cache", "--refresh")
    assert both.code == 2
    assert "exclude each other" in both.err


def test_refresh_writes_anew_and_keeps_that(ingested: Program, ollama: OllamaServer) -> None:
    ingested("ask", QUESTION)
    ollama.on("/api/chat", chat("It refills when asked [1]."))
    assert not _is_cached(ingested, QUESTION, "--refresh")
    again = ingested("ask", QUESTION, "--json").document
    assert (again["cached"], again["answer"]) == (True, "It refills when asked [1].")


def test_the_vector_of_a_question_is_asked_for_once(
    ingested: Program, ollama: OllamaServer, connection_to: psycopg.Connection[tuple[object, ...]]
) -> None:
    ingested("ask", QUESTION)
    ollama.requests.clear()
    ingested("ask", QUESTION, "-k", "4")
    assert ollama.requests_to("/api/embed") == []
    assert _written(ollama) == 1
    ingested.set(RAGCTL_CACHE__EMBEDDINGS="off")
    ingested("ask", QUESTION, "-k", "3")
    assert len(ollama.requests_to("/api/embed")) == 1
    columns = connection_to.execute("SELECT * FROM question_embeddings").fetchall()
    assert QUESTION not in repr(columns)


@pytest.fixture
def connection_to(empty_url: str) -> psycopg.Connection[tuple[object, ...]]:
    """A connection to the database of the program."""
    return connect(empty_url)


def test_age_ends_an_answer(
    ingested: Program, connection_to: psycopg.Connection[tuple[object, ...]]
) -> None:
    ingested("ask", QUESTION)
    connection_to.execute("UPDATE answer_cache SET created_at = now() - interval '6 days'")
    done = ingested("ask", QUESTION)
    assert "From the cache, 6 days old" in done.err
    ingested.set(RAGCTL_CACHE__ANSWER_DAYS="5")
    assert not _is_cached(ingested, QUESTION)
    names = [one["name"] for one in ingested("cache", "status", "--json").document["counters"]]
    assert "answers dropped: too old" in names


def test_the_number_of_answers_and_vectors_is_bounded(ingested: Program) -> None:
    ingested.set(RAGCTL_CACHE__MOST_ANSWERS="2", RAGCTL_CACHE__MOST_EMBEDDINGS="2")
    for number in range(5):
        ingested("ask", f"{QUESTION} Part {number}")
    document = ingested("cache", "status", "--json").document
    assert document["answers"]["entries"] <= 3  # the one kept last comes after the look
    assert document["embeddings"]["entries"] == 2


@pytest.mark.parametrize("record", ["numbers", "off"])
def test_where_traces_keep_no_texts_no_answer_is_kept(record: str, ingested: Program) -> None:
    ingested.set(RAGCTL_TRACES__RECORD=record)
    for _ in range(2):
        assert not _is_cached(ingested, QUESTION)
    status = ingested("cache", "status")
    assert "0 kept" in status.out
    assert f"traces.record is {record}" in status.err


def _reader(connection: psycopg.Connection[tuple[object, ...]], *, revoked: str = "") -> None:
    connection.execute(
        "DO $$ BEGIN CREATE ROLE reader_of_caches LOGIN; "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
    connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_caches")
    if revoked:
        connection.execute(f"REVOKE ALL ON {revoked} FROM reader_of_caches".encode())


@pytest.mark.parametrize(
    ("revoked", "is_given"), [("", True), ("answer_cache, question_embeddings", False)]
)
def test_a_role_without_rights_gets_its_answer_and_one_remark(
    revoked: str,
    is_given: bool,
    ingested: Program,
    empty_url: str,
    connection_to: psycopg.Connection[tuple[object, ...]],
) -> None:
    ingested("ask", QUESTION)
    _reader(connection_to, revoked=revoked)
    separator = "&" if "?" in empty_url else "?"
    ingested.set(RAGCTL_DATABASE_URL=f"{empty_url}{separator}user=reader_of_caches")
    for question, given in ((QUESTION, is_given), (OTHER, False)):
        done = ingested("ask", question)
        assert done.code == 0
        assert ("From the cache" in done.err) == given
        assert done.err.count("Not cached: the caches cannot be used with these rights.") == 1


@pytest.mark.parametrize("table", ["answer_cache", "question_embeddings", "cache_counters"])
def test_a_broken_cache_never_costs_an_answer(
    table: str, ingested: Program, connection_to: psycopg.Connection[tuple[object, ...]]
) -> None:
    connection_to.execute(f"DROP TABLE {table} CASCADE".encode())
    for _ in range(2):
        done = ingested("ask", QUESTION)
        assert done.code == 0
        assert done.out.startswith("It refills lazily [1].")
        assert done.err.count("Not cached") <= 1


def test_many_processes_at_once_keep_one_answer_and_count_each(
    ingested: Program, ollama: OllamaServer
) -> None:
    codes: list[int] = []

    def ask() -> None:
        done = run_process("ask", QUESTION, "--json", timeout_seconds=120)
        codes.append(done.returncode)
        assert json.loads(done.stdout)["answer"] == "It refills lazily [1]."

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 6
    document = ingested("cache", "status", "--json").document
    assert (document["answers"]["entries"], document["embeddings"]["entries"]) == (1, 1)
    assert _is_cached(ingested, QUESTION)


def test_a_close_question_is_a_hint_or_an_answer_as_the_settings_say(
    ingested: Program, ollama: OllamaServer
) -> None:
    close = "How do the token buckets refill?"
    opposite = "How does the token bucket not refill?"

    def alike(request: Request) -> Reply:
        return Reply(document={"embeddings": [[1.0] + [0.0] * 767 for _ in request.inputs]})

    ollama.on("/api/embed", alike)
    first = ingested("ask", QUESTION, "--json").document
    assert not _is_cached(ingested, close, "--no-cache")
    ingested.set(RAGCTL_CACHE__SEMANTIC="hint")
    hinted = ingested("ask", close)
    assert f"Something close was asked 0 seconds ago: “{QUESTION}”." in hinted.err
    assert f"ragctl trace show {first['trace_id']}" in hinted.err
    assert "From the cache" not in hinted.err
    ingested("cache", "clear", "--answers", "--yes")
    ingested("ask", QUESTION)
    ingested.set(RAGCTL_CACHE__SEMANTIC="answer")
    ollama.requests.clear()
    given = ingested("ask", close, "--json").document
    assert (given["cached"], given["cached_question"]) == (True, QUESTION)
    assert given["question"] == close
    assert _written(ollama) == 0
    assert f"written for another question: “{QUESTION}”" in ingested("ask", close).err
    assert not _is_cached(ingested, opposite)
    assert not _is_cached(ingested, close, "--track", "design")


def test_caches_are_cleared_one_or_both(ingested: Program) -> None:
    ingested("ask", QUESTION)
    assert ingested("cache", "clear").code == 2
    assert "dropped 1 answers" in ingested("cache", "clear", "--answers", "--yes").out
    document = ingested("cache", "status", "--json").document
    assert (document["answers"]["entries"], document["embeddings"]["entries"]) == (0, 1)
    done = ingested("cache", "clear", "--yes")
    assert "dropped 0 answers and 1 vectors of questions" in done.out


def test_status_tells_which_answers_may_still_be_given(ingested: Program, site: Path) -> None:
    for question in (QUESTION, QUESTION, OTHER):
        ingested("ask", question)
    page = site / "design" / "02-queues.md"
    page.write_text(page.read_text() + "\nMore.\n")
    assert ingested("ingest", str(site)).code == 0
    answers = ingested("cache", "status", "--json").document["answers"]
    assert (answers["entries"], answers["usable"], answers["hits"]) == (2, 0, 1)
    shown = ingested("cache", "status").out
    assert "2 kept, of which 0 may still be given; served 1 times" in shown
    assert "answers served: 1" in shown


def test_evaluate_counts_right_and_wrong_hits(ingested: Program, tmp_path: Path) -> None:
    file = tmp_path / "groups.jsonl"
    row = {"original": QUESTION, "same": ["how does the token bucket refill"], "traps": [OTHER]}
    file.write_text(json.dumps(row) + "\n")
    ways = ingested("cache", "evaluate", str(file), "--json").document["ways"]
    counted = {(way["way"], way["right"], way["wrong"]) for way in ways[:2]}
    assert counted == {("exact", 0, 0), ("normalised", 1, 0)}
    assert all(way["wrong"] == 0 for way in ways if way["guarded"])
    shown = ingested("cache", "evaluate", str(file))
    assert shown.code == 0
    assert "least cosine" in shown.out
    for text in ("", "{}", '{"original": "x", "same": 3}', "no JSON"):
        file.write_text(text)
        assert ingested("cache", "evaluate", str(file)).code == 2


def test_a_purge_of_traces_takes_cached_answers_of_the_same_age(
    ingested: Program, empty_url: str
) -> None:
    ingested("ask", QUESTION)
    ingested("ask", OTHER)
    with connect(empty_url) as connection:
        connection.execute(
            "UPDATE answer_cache SET created_at = now() - interval '40 days' WHERE question = %s",
            (QUESTION,),
        )
        connection.execute(
            "UPDATE traces SET asked_at = now() - interval '40 days' WHERE question = %s",
            (QUESTION,),
        )
    done = ingested("trace", "purge", "--older-than", "30d", "--texts", "--yes")
    assert done.out.splitlines() == ["removed the texts of 1 trace", "removed 1 cached answer"]
    with connect(empty_url) as connection:
        left = connection.execute("SELECT question FROM answer_cache").fetchall()
    assert left == [(OTHER,)]
    done = ingested("trace", "purge", "--all", "--yes")
    assert done.out.splitlines() == ["removed 2 traces", "removed 1 cached answer"]


def test_a_purge_by_the_settings_takes_cached_answers_past_the_age_of_texts(
    ingested: Program, empty_url: str
) -> None:
    ingested("ask", QUESTION)
    with connect(empty_url) as connection:
        connection.execute("UPDATE answer_cache SET created_at = now() - interval '40 days'")
    assert "removed 1 cached answer" in ingested("trace", "purge", "--yes").out
    assert "nothing to remove" in ingested("trace", "purge", "--yes").err
