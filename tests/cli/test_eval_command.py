"""``ragctl eval retrieval`` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, Reply, Request
from tests.program import Program

BUCKET = "The token bucket refills lazily, when a request arrives."
QUESTIONS: list[dict[str, object]] = [
    {
        "id": "a",
        "question": "How does the bucket refill?",
        "kind": "natural",
        "track": "design",
        "gold": [{"url": "/design/01-buckets", "section": "Elsewhere"}],
        "must_contain": ["Refills  lazily"],
        "answerable": True,
    },
    {
        "id": "b",
        "question": "Do readers wait?",
        "kind": "code",
        "gold": [{"url": "/kernel/10-rcu", "section": ""}],
        "must_contain": ["never wait", "grace period"],
    },
    {"id": "c", "question": "Who won the cup?", "kind": "unanswerable", "answerable": False},
]


def by_first_words(request: Request) -> Reply:
    """Embed what speaks of readers in one direction, of queues in another, the rest in a third."""
    vectors = []
    for text in request.inputs:
        vector = [0.0] * 768
        vector[0 if "eaders" in text else 1 if "ueue" in text else 2] = 1.0
        vectors.append(vector)
    return Reply(document={"embeddings": vectors})


@pytest.fixture
def questions(ragctl: Program, site: Path, ollama: OllamaServer, tmp_path: Path) -> Path:
    """An ingested site and a file of questions about it."""
    ollama.on("/api/embed", by_first_words)
    assert ragctl("ingest", str(site)).code == 0
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(question) for question in QUESTIONS) + "\n")
    return file


def test_figures_come_by_kind_and_overall_with_each_question(
    ragctl: Program, questions: Path
) -> None:
    flags = ("--json", "-k", "1", "--mode", "vector")
    done = ragctl("eval", "retrieval", str(questions), *flags)
    assert done.code == 0, done.err
    document = done.document
    assert document["schema"] == "ragctl.eval_retrieval/1"
    assert (document["k"], document["mode"]) == (1, "vector")
    assert document["token_counter"] == "pieces/1"
    assert document["chunker"]
    assert [row["kind"] for row in document["kinds"]] == ["code", "natural", "unanswerable"]
    overall = document["overall"]
    assert (overall["questions"], overall["with_gold"]) == (3, 2)
    assert (overall["pages_at_1"], overall["pages_at_k"], overall["mrr"]) == (1.0, 1.0, 1.0)
    assert (overall["sections_at_k"], overall["facts_at_k"]) == (0.0, 0.5)
    assert overall["prompt_tokens"]["median"] > 100
    second = document["questions"][1]
    assert second["page_rank"] == 1
    assert second["section_rank"] is None
    assert second["missing_facts"] == ["grace period"]
    assert second["passages"][0]["ref"].startswith("/kernel/10-rcu#c")
    assert document["questions"][2]["page_rank"] is None


def test_the_table_has_a_line_a_kind_and_one_for_all(ragctl: Program, questions: Path) -> None:
    done = ragctl("eval", "retrieval", str(questions))
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split()[:4] == ["kind", "questions", "with", "gold"]
    assert [line.split()[0] for line in lines[1:] if line.strip()] == [
        "code",
        "natural",
        "unanswerable",
        "all",
    ]
    assert "pieces/1" in done.err


def test_modes_are_compared_line_by_line(ragctl: Program, questions: Path) -> None:
    modes = ("--mode", "hybrid", "--mode", "vector", "--mode", "keyword")
    done = ragctl("eval", "retrieval", str(questions), *modes)
    assert done.code == 0, done.err
    lines = [line.split() for line in done.out.splitlines() if line.strip()]
    assert [line[0] for line in lines] == ["mode", "hybrid", "vector", "keyword"]
    document = ragctl("eval", "retrieval", str(questions), *modes, "--json").document
    assert document["mode"] == "hybrid"
    assert [each["mode"] for each in document["modes"]] == ["hybrid", "vector", "keyword"]
    assert document["modes"][0]["overall"] == document["overall"]


def test_keywords_are_measured_without_a_model(ragctl: Program, questions: Path) -> None:
    ragctl.set(OLLAMA_HOST="http://127.0.0.1:9")
    assert ragctl("eval", "retrieval", str(questions), "--mode", "keyword").code == 0
    assert ragctl("eval", "retrieval", str(questions)).code == 5


def test_questions_are_embedded_as_questions(
    ragctl: Program, questions: Path, ollama: OllamaServer
) -> None:
    before = len(ollama.requests_to("/api/embed"))
    ragctl("eval", "retrieval", str(questions))
    (request,) = ollama.requests_to("/api/embed")[before:]
    assert request.inputs == [f"search_query: {each['question']}" for each in QUESTIONS]


def test_gold_pages_that_are_not_there_are_named(ragctl: Program, questions: Path) -> None:
    line = {"id": "z", "question": "Where?", "gold": [{"url": "/gone/page"}]}
    questions.write_text(json.dumps(line))
    done = ragctl("eval", "retrieval", str(questions))
    assert done.code == 0
    assert "/gone/page" in done.err


def test_a_malformed_file_is_refused_with_its_line(ragctl: Program, questions: Path) -> None:
    questions.write_text('{"id": "a", "question": "Why?"}\n{"id": "b"}\n')
    done = ragctl("eval", "retrieval", str(questions))
    assert done.code == 2
    assert f"{questions}:2: question must be a text" in done.err
    absent = ragctl("eval", "retrieval", "absent.jsonl")
    assert absent.code == 2
    assert "absent.jsonl" in absent.err


def test_without_an_index_there_is_nothing_to_measure(ragctl: Program, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"id": "a", "question": "Why?"}')
    assert ragctl("eval", "retrieval", str(file)).code == 3


def test_an_unknown_mode_is_refused(ragctl: Program, questions: Path) -> None:
    done = ragctl("eval", "retrieval", str(questions), "--mode", "magic")
    assert done.code == 2
    assert "vector" in done.err
