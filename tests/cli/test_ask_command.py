"""``ragctl ask`` as typed: answer, sources, JSON, errors."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, chat, chat_lines
from tests.program import Program, run_process


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.requests.clear()
    return ragctl


def test_it_prints_the_answer_and_then_its_source_with_page_section_and_path(
    ingested: Program,
) -> None:
    done = ingested("ask", "How does the bucket refill?")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "It refills lazily [1]."
    assert lines[2] == "Sources"
    assert lines[3].startswith("[1] ")
    assert lines[4].strip().startswith("/")


def test_the_address_of_the_site_makes_the_link_whole(ingested: Program) -> None:
    ingested.set(RAGCTL_SITE__BASE_URL="https://site.example/")
    done = ingested("ask", "How?")
    assert done.out.splitlines()[4].strip().startswith("https://site.example/")


def test_the_question_goes_out_with_the_fixed_options_and_the_query_prefix(
    ingested: Program, ollama: OllamaServer
) -> None:
    ingested("ask", "What holds work?")
    (embed,) = ollama.requests_to("/api/embed")
    assert embed.inputs == ["search_query: What holds work?"]
    (chat_request,) = ollama.requests_to("/api/chat")
    assert chat_request.body["model"] == "llama3"
    assert chat_request.body["options"] == {
        "temperature": 0,
        "seed": 0,
        "num_ctx": 4096,
        "num_predict": 512,
    }


def test_json_is_one_document_with_every_key_of_the_schema(ingested: Program) -> None:
    document = ingested("ask", "How?", "--json", "--show-prompt").document
    assert document["schema"] == "ragctl.answer/1"
    expected = (
        "question answer refused degraded cached citations claims passages problems route attempts "
        "tokens ms cost_usd trace_id"
    )
    assert set(expected.split()) <= set(document)
    assert document["answer"] == "It refills lazily [1]."
    assert document["route"] == "ollama/llama3"
    (citation,) = document["citations"]
    assert citation["n"] == 1
    assert citation["url"] == document["passages"][0]["url"]
    assert len(document["passages"]) == 3
    assert document["passages"][0]["body"] in document["prompt"]


def test_a_question_comes_from_standard_input(
    ingested: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("What is RCU?\n"))
    assert ingested("ask", "-", "--json").document["question"] == "What is RCU?"


def test_a_track_limits_what_is_searched_and_an_unknown_one_asks_no_model(
    ingested: Program, ollama: OllamaServer
) -> None:
    found = ingested("ask", "How?", "--track", "kernel", "--json").document["passages"]
    assert [passage["track"] for passage in found] == ["kernel"]
    ollama.requests.clear()
    done = ingested("ask", "How?", "--track", "nothing")
    assert done.code == 2
    assert "design, kernel" in done.err
    assert ollama.requests == []


def test_k_sets_the_number_of_passages(ingested: Program) -> None:
    assert len(ingested("ask", "How?", "-k", "2", "--json").document["passages"]) == 2
    assert ingested("ask", "How?", "-k", "0").code == 2


def test_prompt_and_passages_are_shown_on_request(ingested: Program, ollama: OllamaServer) -> None:
    done = ingested("ask", "How?", "--show-prompt", "--show-passages")
    prompt = ollama.requests_to("/api/chat")[0].body["messages"][-1]["content"]
    assert prompt in done.out
    assert done.out.index(prompt) < done.out.index("It refills lazily")
    assert "[3]" in done.out.rpartition("Sources")[2]


@pytest.mark.parametrize(
    ("question", "words"),
    [("", "empty"), (" \n", "empty"), ("?!", "no words"), ("x" * 2001, "2,001")],
)
def test_a_question_that_is_none_is_refused_before_any_work(
    question: str, words: str, ragctl: Program
) -> None:
    done = ragctl("ask", question)
    assert done.code == 2
    assert words in done.err


def test_nul_and_broken_unicode_in_a_question_do_no_harm(ingested: Program) -> None:
    document = ingested("ask", "Why \0 and \udcff?", "--json").document
    assert document["question"] == "Why   and \ufffd?"


def test_before_the_first_ingest_it_says_how_to_begin(ragctl: Program) -> None:
    done = ragctl("ask", "How?")
    assert done.code == 3
    assert "ragctl ingest" in done.err


def test_changed_files_are_counted(ingested: Program, site: Path) -> None:
    assert "changed since" not in ingested("ask", "How?").err
    (site / "kernel/10-rcu.md").write_text("Something else.\n")
    (site / "design/02-queues.md").unlink()
    new = site / "kernel/50-new.md"
    new.write_text("New.\n")
    os.utime(new, ns=(time.time_ns() + 10**9, time.time_ns() + 10**9))
    assert "3 files changed since the last ingest" in ingested("ask", "How?").err
    os.utime(site / "design/01-buckets.md")  # touched, not changed
    assert "3 files changed" in ingested("ask", "How?").err


def test_an_index_of_another_digest_of_the_same_model_is_refused(
    ingested: Program, ollama: OllamaServer, site: Path
) -> None:
    models = [{"name": "nomic-embed-text:latest", "digest": "newer"}, {"name": "llama3:latest"}]
    ollama.on("/api/tags", Reply(document={"models": models}))
    done = ingested("ask", "How?")
    assert done.code == 6
    assert "newer" in done.err


def test_without_the_writing_model_the_answer_quotes_and_says_so(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/tags", Reply(document={"models": [{"name": "nomic-embed-text:latest"}]}))
    done = ingested("ask", "When does the token bucket refill?")
    assert done.code == 0
    assert "No model wrote this answer" in done.err
    assert "llama3" in done.err
    assert "refills lazily, when a request arrives [" in done.out
    document = ingested("ask", "When does the token bucket refill?", "--json").document
    assert document["degraded"] is True
    assert document["route"] == "extractive"


def test_no_model_is_asked_where_none_is_wanted(ingested: Program, ollama: OllamaServer) -> None:
    done = ingested("ask", "--no-model", "When does the token bucket refill?")
    assert done.code == 0, done.err
    assert done.err.count("No model wrote this answer") == 1
    assert "refills lazily, when a request arrives [" in done.out
    assert not ollama.requests_to("/api/chat")
    document = ingested("ask", "--no-model", "When does the bucket refill?", "--json").document
    assert [attempt["outcome"] for attempt in document["attempts"]] == ["stop"]
    assert document["problems"] == []


def test_a_model_and_no_model_exclude_each_other(ingested: Program) -> None:
    done = ingested("ask", "--no-model", "--model", "llama3", "How?")
    assert done.code == 2
    assert "exclude each other" in done.err


def test_a_password_in_the_address_of_the_model_server_is_never_shown(
    ingested: Program, ollama: OllamaServer
) -> None:
    ingested.set(OLLAMA_HOST=ollama.url.replace("://", "://me:secret@"))
    for asked in (("--model", "absent"), ("--json", "--model", "absent")):
        done = ingested("ask", "How?", *asked)
        assert done.code == 5
        assert "secret" not in done.out + done.err


def test_a_model_asked_for_by_name_must_be_there(ingested: Program, ollama: OllamaServer) -> None:
    done = ingested("ask", "How?", "--model", "phi9")
    assert done.code == 5
    assert "ollama pull phi9" in done.err


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(packets=[*chat_lines("At six "), b'{"error": "runner died"}\n']), "runner died"),
        (Reply(packets=chat_lines("At six ")), "ended"),
        (Reply(packets=chat_lines("At six "), end="reset"), "lost"),
        (Reply(packets=chat_lines("At six "), end="hang"), "0.3"),
    ],
    ids=["error line", "no last line", "reset", "stall"],
)
def test_a_torn_answer_is_shown_as_incomplete_and_fails(
    reply: Reply, words: str, ingested: Program, ollama: OllamaServer
) -> None:
    ingested.set(RAGCTL_GENERATION__STALL_SECONDS="0.3")
    ollama.on("/api/chat", reply)
    done = ingested("ask", "When?")
    assert done.code == 7
    assert done.out.startswith("At six")
    assert "incomplete" in done.err
    assert words in done.err
    document = ingested("ask", "When?", "--json").document
    assert document["finish"] == "torn"
    assert document["problems"][0]["code"] == "incomplete"


def test_an_answer_cut_by_its_limit_says_so_and_counts_no_half_citation(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on(
        "/api/chat",
        chat("Change it [1], check [2], and then [", done_reason="length", eval_count=512),
    )
    ingested.set(RAGCTL_RETRIEVAL__LEAST_SHARE="0")
    done = ingested("ask", "When?")
    assert "cut at 512 tokens" in done.err
    document = ingested("ask", "When?", "--json").document
    assert document["truncated"] is True
    assert sorted(n for c in document["citations"] for n in c["passages"]) == [1, 2]


def test_citations_of_passages_that_are_not_there_are_reported(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat("So it is [2], [9]."))
    ingested.set(RAGCTL_RETRIEVAL__LEAST_SHARE="0")
    document = ingested("ask", "When?", "--json").document
    assert [citation["n"] for citation in document["citations"]] == [2]
    assert document["problems"][0]["code"] == "citation_out_of_range"


def test_a_refusal_is_no_failure_to_cite(ingested: Program, ollama: OllamaServer) -> None:
    ollama.on("/api/chat", chat("The passages do not say."))
    document = ingested("ask", "When?", "--json").document
    assert document["refused"] is True
    assert document["problems"] == []


def test_an_index_added_by_somebody_does_not_thin_out_a_filtered_answer(
    ingested: Program, site: Path, empty_url: str
) -> None:
    for number in range(60):
        (site / f"design/{30 + number}-more.md").write_text(f"Filler number {number}.\n")
    ingested("ingest", str(site))
    with connect(empty_url) as connection:
        connection.execute("CREATE INDEX ON chunks USING hnsw (embedding vector_cosine_ops)")
        connection.execute("ANALYZE chunks")
    found = ingested("ask", "How?", "--track", "kernel", "--json").document["passages"]
    assert [passage["track"] for passage in found] == ["kernel"]
    assert len(ingested("ask", "How?", "--json").document["passages"]) == 5


def test_control_characters_of_pages_and_models_never_reach_the_terminal(
    ingested: Program, ollama: OllamaServer, site: Path
) -> None:
    (site / "kernel/10-rcu.md").write_text(
        '---\ntitle: "R\\eC]0;owned\\aU [bold]x[/bold]"\n---\nBody \x1b[31mred.\n'
    )
    ingested("ingest", str(site))
    ollama.on("/api/chat", chat("Look \x1b]0;owned\x07 here \x9b31m [1][2][3]."))
    for done in (ingested("ask", "How?", "--show-passages"), ingested("sources")):
        assert "\x1b" not in done.out + done.err
        assert "\x9b" not in done.out + done.err
        assert "\x07" not in done.out + done.err
        assert "[bold]x[/bold]" in done.out


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_narrow_encoding_replaces_characters_and_never_fails(
    encoding: str, ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat("Länge \u2192 12 m \u6f22 \U0001f6a2 [1]."))
    environ = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = run_process("ask", "How long?", environ=environ)
    assert done.returncode == 0, done.stderr
    assert b"12 m" in done.stdout
    assert b"[1]" in done.stdout
    document = run_process("ask", "How long?", "--json", environ=environ)
    import json

    assert json.loads(document.stdout)["answer"].startswith("Länge \u2192")


def test_a_pipe_that_closes_early_ends_the_program_quietly(ingested: Program) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [
            "sh",
            "-c",
            f"{sys.executable} -m ragctl ask How? --show-prompt --show-passages | head -1",
        ],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def test_modes_differ_in_what_they_need_and_in_the_scores_they_have(
    ingested: Program, ollama: OllamaServer
) -> None:
    for mode, has_vector, has_keyword in (
        ("hybrid", True, True),
        ("vector", True, False),
        ("keyword", False, True),
    ):
        ollama.requests.clear()
        document = ingested("ask", "How does a queue work?", "--mode", mode, "--json").document
        assert document["passages"], mode
        for passage in document["passages"]:
            assert (passage["vector_score"] is not None) == has_vector
            assert (passage["keyword_score"] is not None) == has_keyword
        assert bool(ollama.requests_to("/api/embed")) == has_vector
        assert "keyword_only" not in [problem["code"] for problem in document["problems"]]
    assert ingested("ask", "How?", "--mode", "guess").code == 2


def test_the_mode_is_a_setting(ingested: Program) -> None:
    ingested.set(RAGCTL_RETRIEVAL__MODE="vector")
    document = ingested("ask", "How does a queue work?", "--json").document
    assert {passage["keyword_score"] for passage in document["passages"]} == {None}


def test_without_the_embedding_model_words_find_the_passages_and_it_says_so(
    ingested: Program, ollama: OllamaServer
) -> None:
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    done = ingested("ask", "When does the token bucket refill?")
    assert done.code == 0, done.err
    assert "refills lazily" in done.out
    assert "found by their words alone" in done.err
    document = ingested("ask", "When does the token bucket refill?", "--json").document
    assert document["problems"][0]["code"] == "keyword_only"
    assert document["passages"][0]["url"] == "/design/01-buckets"
    assert ingested("ask", "How?", "--mode", "vector").code == 5


def test_without_the_embedding_model_alone_a_model_still_writes(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/embed", Reply(status=404, document={"error": "model not found"}))
    document = ingested("ask", "When does the token bucket refill?", "--json").document
    assert document["route"] == "ollama/llama3"
    assert [problem["code"] for problem in document["problems"]][:1] == ["keyword_only"]


def test_pages_limit_what_is_searched_and_an_unknown_one_asks_no_model(
    ingested: Program, ollama: OllamaServer
) -> None:
    flags = ("--page", "/kernel/10-rcu", "--page", "/design/02-queues", "--json")
    for mode in ("hybrid", "vector"):
        document = ingested("ask", "How?", "--mode", mode, *flags).document
        found = {passage["url"] for passage in document["passages"]}
        assert found == {"/kernel/10-rcu", "/design/02-queues"}
    ollama.requests.clear()
    done = ingested("ask", "How?", "--page", "/design/02-queue")
    assert done.code == 2
    assert "/design/02-queues" in done.err
    assert ollama.requests == []


@pytest.mark.parametrize(
    "typed",
    ["When does the to\x1b[31mken bucket\x1b[0m refill?", "When does the token\0bucket refill?"],
)
def test_control_characters_in_a_question_are_no_part_of_its_words(
    typed: str, ingested: Program
) -> None:
    document = ingested("ask", typed, "--json").document
    assert document["question"] == "When does the token bucket refill?"


def test_passages_that_were_not_sent_are_marked(ingested: Program) -> None:
    ingested.set(RAGCTL_RETRIEVAL__LEAST_SHARE="0.9")
    done = ingested("ask", "How does the bucket refill?", "-k", "100", "--show-passages")
    marked = [line for line in done.out.splitlines() if line.endswith("left out of the prompt")]
    hits = ingested("trace", "last", "--json").document["hits"]
    assert len(marked) == sum(not hit["in_prompt"] for hit in hits) > 0


def test_a_refusal_without_a_model_is_not_said_to_quote(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/tags", Reply(document={"models": []}))
    told = ingested("ask", "How does the bucket refill?").err
    assert "No model wrote this answer: " in told
    assert "quotes" not in told
    assert "(" not in told.partition("What helps")[2]
