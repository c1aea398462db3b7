"""``ragctl bench model``: the latency table of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, chat
from tests.program import Program

QUESTION = "How does the token bucket refill?"
COUNTED = {
    "prompt_eval_count": 900,
    "prompt_eval_duration": 1_000_000,
    "eval_count": 40,
    "eval_duration": 2_000_000,
}


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program after an ingest, with a model that counts."""
    assert ragctl("ingest", str(site)).code == 0
    ollama.on("/api/chat", chat("It refills lazily [1].", **COUNTED))
    return ragctl


def test_questions_of_a_file_are_timed_first_and_again(
    ingested: Program, ollama: OllamaServer
) -> None:
    file = ingested.folder / "questions.jsonl"
    file.write_text('{"id": "q1", "question": "What is RCU?"}\n')
    done = ingested("bench", "model", "--questions", str(file), "--runs", "2", "--json")
    assert done.code == 0
    document = done.document
    assert document["schema"] == "ragctl.bench_model/1"
    assert document["questions"] == {"source": "file", "count": 1}
    assert document["routes"] == ["ollama/llama3"]
    assert document["embedding_model"] == "ollama/nomic-embed-text"
    assert document["tokens"]["prompt"]["median"] == 900
    for which in ("first", "again"):
        times = document[which]
        assert (times["prefill_ms"]["median"], times["prefill_ms"]["count"]) == (1.0, 1)
        assert times["prefill_tokens_per_second"]["median"] == 900_000
        assert times["decode_tokens_per_second"]["median"] == 20_000
        assert times["total_ms"]["median"] >= times["first_token_ms"]["median"] > 0
        assert times["embed_ms"]["median"] > 0
    prompts = [str(request.body["messages"]) for request in ollama.requests_to("/api/chat")]
    assert len(prompts) == 3, "one to load the model, then the question twice"
    assert prompts[1] == prompts[2]
    assert "What is RCU?" not in prompts[0]


def test_without_a_file_what_was_asked_is_asked_again_and_else_drafts(ingested: Program) -> None:
    drafted = ingested("bench", "model", "--runs", "1")
    assert drafted.code == 0
    assert "drafted from the site, each asked once" in drafted.out
    assert "Written by ollama/llama3: 900 prompt tokens (900–900), 40 output" in drafted.out
    assert ingested("ask", QUESTION).code == 0
    document = ingested("bench", "model", "--runs", "1", "--json").document
    assert document["questions"] == {"source": "traces", "count": 1}
    assert document["again"]["total_ms"] is None


def test_without_a_model_that_writes_embedding_and_search_are_timed_all_the_same(
    ingested: Program, ollama: OllamaServer
) -> None:
    models = [{"name": "nomic-embed-text:latest", "digest": "digest-of-nomic-embed-text"}]
    ollama.on("/api/tags", Reply(document={"models": models}))
    done = ingested("bench", "model")
    assert done.code == 0
    assert "Only embedding and search are timed: Ollama at" in done.err
    assert "embed the question, ms" in done.out
    assert "read the prompt" not in done.out
    assert ollama.requests_to("/api/chat") == []
    document = ingested("bench", "model", "--json").document
    assert "does not have the model llama3" in document["reason"]
    assert document["first"]["search_ms"]["median"] > 0
    assert document["first"]["total_ms"] is None


def test_it_stands_in_line_like_any_question_and_leaves_no_slot(
    ingested: Program, empty_url: str
) -> None:
    ingested.set(RAGCTL_LIMITS__GENERATIONS="1")
    assert ingested("bench", "model", "--runs", "1").code == 0
    with connect(empty_url) as connection:
        assert connection.execute("SELECT last_ticket > 1 FROM generation_queue").fetchone() == (
            True,
        )
        assert connection.execute("SELECT count(*) FROM generation_slots").fetchone() == (0,)


def test_a_reader_who_may_not_see_traces_times_drafts(ingested: Program, empty_url: str) -> None:
    assert ingested("ask", QUESTION).code == 0
    with connect(empty_url) as connection:
        connection.execute("DROP ROLE IF EXISTS times_only")
        connection.execute("CREATE ROLE times_only LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO times_only")
        connection.execute("REVOKE SELECT ON traces, spans FROM times_only")
        ingested.set(RAGCTL_DATABASE_URL=empty_url.replace("postgres@", "times_only@", 1))
        done = ingested("bench", "model", "--runs", "1", "--json")
        connection.execute("DROP OWNED BY times_only")
        connection.execute("DROP ROLE times_only")
    assert done.code == 0
    assert done.document["questions"]["source"] == "drafts"
    assert "cannot be read" in done.err


def test_before_an_ingest_there_is_nothing_to_time(ragctl: Program) -> None:
    assert ragctl("bench", "model").code == 3
