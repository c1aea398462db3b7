"""``ragctl ask`` about the site itself: answered from the list of pages, by no model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, chat
from tests.program import Program

HASHING = "## Consistent hashing\n\nKeys and servers lie on a ring.\n"
PAGES = {
    "design/_index.md": "---\ntitle: System design\n---\nAll about systems.\n",
    "design/01-hashing.md": f"---\ntitle: Hashing\n---\nKeys become numbers.\n\n{HASHING}",
    "design/02-partitioning.md": f"---\ntitle: Partitioning\n---\nData is split.\n\n{HASHING}",
    "design/03-buckets.md": "---\ntitle: Rate limiter\n---\nThe token bucket refills lazily.\n",
    "kernel/_index.md": "---\ntitle: Linux internals\n---\nAll about the kernel.\n",
    "kernel/10-rcu.md": "---\ntitle: RCU\n---\nReaders never wait for writers.\n",
}


@pytest.fixture
def ingested(ragctl: Program, tmp_path: Path, ollama: OllamaServer) -> Program:
    """The program with a site of two tracks in its database, and no request noted yet."""
    root = tmp_path / "site"
    for path, text in PAGES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert ragctl("ingest", str(root)).code == 0
    ollama.requests.clear()
    return ragctl


@pytest.mark.parametrize(
    ("question", "words", "urls"),
    [
        (
            "How many chapters does the system design track have?",
            "has 3 pages",
            ["/design", "/design/01-hashing", "/design/03-buckets"],
        ),
        (
            "Which chapters on this site cover consistent hashing?",
            "2 pages have",
            ["/design/01-hashing", "/design/02-partitioning"],
        ),
        (
            "What should I read first on this site if I'm new to operating systems?",
            "No track and no title is about",
            ["/design", "/design/01-hashing", "/kernel", "/kernel/10-rcu"],
        ),
    ],
)
def test_what_no_passage_holds_is_answered_with_links_and_without_a_model(
    question: str, words: str, urls: list[str], ingested: Program, ollama: OllamaServer
) -> None:
    document = ingested("ask", question, "--json").document
    assert words in document["answer"]
    assert document["route"] == "catalogue"
    assert not document["degraded"]
    assert document["passages"] == document["problems"] == []
    assert [(one["n"], one["url"]) for one in document["citations"]] == list(
        enumerate(urls, start=1)
    )
    assert ollama.requests == []


def test_the_answer_comes_with_its_sources_and_a_line_that_says_where_it_is_from(
    ingested: Program,
) -> None:
    ingested.set(RAGCTL_SITE__BASE_URL="https://site.example")
    done = ingested("ask", "What comes after the hashing chapter?")
    assert done.code == 0
    assert done.out.splitlines() == [
        "\u201cPartitioning\u201d [1] comes after \u201cHashing\u201d [2] in the track "
        "System design (design) [3].",
        "",
        "Sources",
        "[1] Partitioning",
        "    https://site.example/design/02-partitioning",
        "[2] Hashing",
        "    https://site.example/design/01-hashing",
        "[3] System design",
        "    https://site.example/design",
    ]
    assert "Answered from the list of pages, without a model." in done.err


def test_it_works_while_the_model_server_is_down(ingested: Program) -> None:
    ingested.set(OLLAMA_HOST="http://127.0.0.1:1")
    done = ingested("ask", "Which tracks are there?")
    assert done.code == 0
    assert "4 pages in 2 tracks" in done.out


def test_a_track_limits_what_is_counted(ingested: Program, ollama: OllamaServer) -> None:
    done = ingested("ask", "How many chapters are there?", "--track", "kernel")
    assert "has 1 page," in done.out
    assert ollama.requests == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-catalogue",),
        ("--model", "llama3"),
        ("--mode", "vector"),
        ("--page", "/kernel/10-rcu"),
        ("--show-prompt",),
        ("--show-passages",),
        ("--artifacts", "build"),
    ],
)
def test_what_only_an_answer_from_passages_has_is_answered_from_passages(
    arguments: tuple[str, ...], ingested: Program, ollama: OllamaServer
) -> None:
    document = ingested("ask", "How many tracks are there?", "--json", *arguments).document
    assert document["route"] == "ollama/llama3"
    assert ollama.requests_to("/api/chat")


def test_another_question_goes_to_the_model(ingested: Program, ollama: OllamaServer) -> None:
    document = ingested("ask", "How many tokens does the bucket hold?", "--json").document
    assert document["route"] == "ollama/llama3"
    assert ollama.requests_to("/api/embed")


def test_it_is_traced_like_every_answer(ingested: Program) -> None:
    asked = ingested("ask", "How many tracks are there?", "--json").document
    trace = ingested("trace", "last", "--json").document
    assert trace["id"] == asked["trace_id"]
    assert trace["route"] == "catalogue"
    assert "written by  catalogue" in ingested("trace", "last").out


def test_a_question_about_the_site_in_no_known_form_takes_the_list_of_pages_to_the_model(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on(
        "/api/chat", chat("The System design track has 3 pages. Rate limiter is one of them.")
    )
    asked = "Would you say the design track has more chapters about hashing than posts on queues?"
    document = ingested("ask", asked, "--json").document
    (request,) = ollama.requests_to("/api/chat")
    prompt = request.body["messages"][-1]["content"]
    told = prompt.partition("About the site:")[2]
    assert "System design" in told and "Rate limiter" in told and "Linux internals" in told
    assert document["route"].startswith("ollama/")
    listed = [claim["why"] for claim in document["claims"]]
    assert any("the list of pages supports it" in why for why in listed)
    assert "uncited_claim" not in {problem["code"] for problem in document["problems"]}


def test_what_the_list_of_pages_does_not_say_is_still_unfounded(
    ingested: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", chat("The track was written by seven authors in Norway."))
    asked = "Would you say the design track has more chapters about hashing than posts on queues?"
    document = ingested("ask", asked, "--json").document
    assert "uncited_claim" in {problem["code"] for problem in document["problems"]}


def test_a_question_that_merely_looks_like_one_takes_no_list_along(
    ingested: Program, ollama: OllamaServer
) -> None:
    ingested("ask", "How many tokens does the bucket hold?")
    (request,) = ollama.requests_to("/api/chat")
    assert "About the site:" not in request.body["messages"][-1]["content"]
