"""``ragctl search`` as typed: passages, their scores taken apart, JSON, filters."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer
from tests.program import Program


@pytest.fixture
def ingested(ragctl: Program, site: Path) -> Program:
    """The program with the small site in its database."""
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


def test_it_prints_passages_and_asks_nobody_to_write(
    ingested: Program, ollama: OllamaServer
) -> None:
    done = ingested("search", "token bucket refills")
    assert done.code == 0, done.err
    assert "The token bucket refills lazily" in done.out
    assert "[1]" in done.out
    assert ollama.requests_to("/api/chat") == []


def test_the_score_of_each_passage_is_taken_apart(ingested: Program) -> None:
    flags = ("--explain", "--json", "-k", "100")
    document = ingested("search", "token bucket refills", *flags).document
    assert (document["schema"], document["mode"], document["k"]) == (
        "ragctl.search/1",
        "hybrid",
        100,
    )
    passages = document["passages"]
    assert len(passages) > 1
    for passage, following in zip(passages, [*passages[1:], None], strict=True):
        told = passage["explanation"]
        assert told["vector"] + told["keyword"] == pytest.approx(passage["score"], abs=1e-5)
        assert sum(term["share"] for term in told["terms"]) == pytest.approx(
            told["keyword"], abs=1e-5
        )
        if following is not None:
            assert told["lead"]["score"] == pytest.approx(
                passage["score"] - following["score"], abs=1e-5
            )
    (best,) = [passage for passage in passages if passage["url"] == "/design/01-buckets"]
    assert {term["term"] for term in best["explanation"]["terms"]} >= {"token", "bucket", "refil"}
    assert passages[-1]["explanation"]["lead"] is None


def test_the_explanation_is_readable(ingested: Program) -> None:
    done = ingested("search", "token bucket refills", "--explain")
    assert "vector   " in done.out
    assert "x 0.8 = " in done.out
    assert "idf" in done.out
    assert "ahead of [2] by" in done.out
    assert "The token bucket refills lazily" not in done.out


@pytest.mark.parametrize("mode", ["vector", "keyword"])
def test_one_kind_of_score_alone_is_explained_as_well(mode: str, ingested: Program) -> None:
    flags = ("--explain", "--mode", mode)
    done = ingested("search", "token bucket refills", *flags)
    assert done.code == 0, done.err
    assert ("idf" in done.out) == (mode == "keyword")
    assert ingested("search", "token bucket", *flags, "--json").document["mode"] == mode


def test_filters_and_limits(ingested: Program) -> None:
    document = ingested("search", "queue", "--track", "kernel", "--json").document
    assert {passage["track"] for passage in document["passages"]} == {"kernel"}
    document = ingested("search", "queue", "--page", "/design/02-queues", "--json").document
    assert {passage["url"] for passage in document["passages"]} == {"/design/02-queues"}
    assert ingested("search", "queue", "--page", "/nothing").code == 2
    assert ingested("search", "queue", "-k", "101").code == 2
    assert ingested("search", "").code == 2


def test_words_that_are_nowhere_find_nothing_without_a_vector(ingested: Program) -> None:
    done = ingested("search", "xylophone", "--mode", "keyword")
    assert (done.code, done.out) == (0, "")
    assert "No passage" in done.err
    assert ingested("search", "xylophone", "--mode", "keyword", "--json").document["passages"] == []


def test_without_the_embedding_model_words_do(ingested: Program) -> None:
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    done = ingested("search", "token bucket", "--explain")
    assert done.code == 0, done.err
    assert "words alone" in done.err
    assert ingested("search", "token bucket", "--json").document["mode"] == "keyword"


def test_before_the_first_ingest_it_says_how_to_begin(ragctl: Program) -> None:
    assert ragctl("search", "anything").code == 3


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("ask", "???"), "ragctl ask "),
        (("search", "🦀🦀"), "ragctl search "),
        (("sources", "--about", "???"), "ragctl sources --about "),
        (("why", "?", "--page", "/design/02-queues"), "ragctl why "),
    ],
)
def test_a_question_without_words_is_told_from_an_empty_one_under_the_name_of_the_command(
    command: tuple[str, ...], hint: str, ragctl: Program
) -> None:
    done = ragctl(*command)
    assert done.code == 2
    assert "the question has no words" in done.err
    assert f"Ask something: {hint}" in done.err
    assert "the question is empty" in ragctl("search", " ").err


@pytest.mark.parametrize(
    "name",
    [
        "/design/02-queues",
        "design/02-queues/",
        "design/02-queues.md",
        "./design/02-queues.md",
        "https://docs.example.org/base/design/02-queues/#full",
        "https://docs.example.org/base/design/02-queues.html",
        "/design/02%2Dqueues",
    ],
)
def test_a_page_is_known_by_address_file_and_link(name: str, ingested: Program) -> None:
    ingested.set(RAGCTL_SITE__BASE_URL="https://docs.example.org/base/")
    for command in ("search", "ask"):
        done = ingested(command, "queue", "--page", name, "--json")
        assert done.code == 0, done.err
        assert {passage["url"] for passage in done.document["passages"]} == {"/design/02-queues"}


def test_a_page_outside_the_tracks_asked_is_refused(
    ingested: Program, ollama: OllamaServer
) -> None:
    for command in ("search", "ask"):
        done = ingested(command, "queue", "--track", "kernel", "--page", "/design/02-queues")
        assert done.code == 2
        assert "/design/02-queues is in the track 'design', not in kernel" in done.err
    assert ollama.requests_to("/api/chat") == []
