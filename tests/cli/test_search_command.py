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
