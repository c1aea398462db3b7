"""``ragctl index`` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, Request
from tests.program import Program


def by_words(request: Request) -> Reply:
    """Embed every text in a direction of its own."""
    vectors = []
    for text in request.inputs:
        vector = [0.001] * 768
        for character in text:
            vector[ord(character) % 768] += 1.0
        vectors.append(vector)
    return Reply(document={"embeddings": vectors})


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with the small site ingested."""
    ollama.on("/api/embed", by_words)
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


def test_searches_are_exact_until_an_index_is_made(ingested: Program) -> None:
    document = ingested("index", "status", "--json").document
    assert document["schema"] == "ragctl.index_status/1"
    assert (document["search"], document["index"], document["others"]) == ("exact", None, [])
    assert document["passages"] == 3
    assert document["table_bytes"] > 0
    assert document["recommended"]["search"] == "exact"
    lines = [line.split() for line in ingested("index", "status").out.splitlines()]
    assert ["search", "exact"] in lines
    assert ["passages", "3"] in lines


def test_an_index_is_built_measured_used_and_dropped(ingested: Program) -> None:
    flags = ("ask", "How does the bucket refill?", "--mode", "vector", "--json")
    exact = ingested(*flags).document
    made = ingested("index", "create", "hnsw", "--yes")
    assert made.code == 0, made.err
    lines = [line.split() for line in made.out.splitlines() if line.strip()]
    assert [line[0] for line in lines[:6]] == ["width", "exact", "40", "100", "200", "400"]
    assert made.out.splitlines()[-1] == "In use: hnsw, width 100, recall 1.000."
    assert "passages are searched for" in made.err
    document = ingested("index", "status", "--json").document
    assert document["search"] == "hnsw"
    index = document["index"]
    assert (index["m"], index["ef_construction"], index["width"]) == (16, 64, 100)
    assert index["in_use"]
    assert index["size_bytes"] > 0
    measured = index["measured"]
    assert (measured["source"], measured["questions"], measured["stale"]) == ("passages", 3, "")
    assert [each["width"] for each in measured["widths"]] == [40, 100, 200, 400]
    shown = ingested("index", "status").out
    assert "hnsw, width 100" in shown
    assert "recall@5" in shown
    found = ingested(*flags).document
    assert found["passages"] == exact["passages"]
    assert ingested("index", "drop").out == "dropped: searches are exact\n"
    again = ingested("index", "drop")
    assert (again.code, again.out) == (0, "there was no index: searches are exact\n")
    assert ingested("index", "status", "--json").document["search"] == "exact"
    assert ingested(*flags).document["passages"] == exact["passages"]


def test_it_is_measured_on_questions_that_were_asked(
    ingested: Program, ollama: OllamaServer
) -> None:
    for number in range(20):
        assert ingested("ask", f"How does bucket {number} refill?", "--mode", "vector").code == 0
    before = len(ollama.requests_to("/api/embed"))
    made = ingested("index", "create", "hnsw", "--yes")
    assert made.code == 0, made.err
    assert "Searched for: 20 questions that were asked" in made.err
    (request,) = ollama.requests_to("/api/embed")[before:]
    assert sorted(request.inputs)[0] == "search_query: How does bucket 0 refill?"
    index = ingested("index", "status", "--json").document["index"]
    assert (index["measured"]["source"], index["measured"]["questions"]) == ("traces", 20)
    assert index["width"] == 40
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    without = ingested("index", "recall", "--json")
    assert without.code == 0
    assert without.document["source"] == "passages"
    assert "cannot be embedded" in without.err


def test_it_is_measured_again_on_questions_of_a_file(ingested: Program, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps({"id": "a", "question": "How does the bucket refill?"}))
    none = ingested("index", "recall", "--questions", str(file))
    assert none.code == 3
    assert "ragctl index create hnsw" in none.err
    ingested("index", "create", "hnsw", "--yes", "--width", "77")
    done = ingested("index", "recall", "--questions", str(file), "--json")
    assert done.code == 0, done.err
    document = done.document
    assert document["schema"] == "ragctl.index_recall/1"
    assert (document["source"], document["questions"], document["k"]) == ("file", 1, 5)
    assert document["width_in_use"] == 77
    assert [each["width"] for each in document["widths"]] == [40, 77, 100, 200, 400]
    assert all(each["recall"] == 1.0 for each in document["widths"])
    told = ingested("index", "recall", "--questions", str(file))
    assert "In use: hnsw, width 77, recall 1.000." in told.out
    ingested.set(OLLAMA_HOST="http://127.0.0.1:9")
    assert ingested("index", "recall", "--questions", str(file)).code == 5


def test_nobody_is_asked_where_nobody_is_there(ingested: Program) -> None:
    refused = ingested("index", "create", "hnsw")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert ingested("index", "status", "--json").document["index"] is None


@pytest.mark.parametrize(
    "wrong",
    [("ivfflat",), ("hnsw", "--m", "1"), ("hnsw", "--width", "5"), ("hnsw", "--m", "40")],
)
def test_numbers_that_cannot_work_are_refused(wrong: tuple[str, ...], ingested: Program) -> None:
    assert ingested("index", "create", *wrong, "--yes").code == 2


def test_another_ingest_keeps_the_index_from_being_built(ingested: Program, empty_url: str) -> None:
    with connect(empty_url) as connection:
        connection.execute(
            "INSERT INTO ingest_lease (owner, host, pid, expires_at) "
            "VALUES ('x', 'elsewhere', 1, now() + interval '1 hour')"
        )
    done = ingested("index", "create", "hnsw", "--yes")
    assert done.code == 4
    assert "another ingest" in done.err


def test_doctor_tells_of_the_index_and_of_rows_it_was_not_measured_on(
    ingested: Program, site: Path
) -> None:
    def check() -> dict[str, str]:
        checks = {one["name"]: one for one in ingested("doctor", "--json").document["checks"]}
        found: dict[str, str] = checks["vector index"]
        return found

    assert check()["message"] == "none, searches are exact"
    ingested("index", "create", "hnsw", "--yes")
    assert check()["message"] == "hnsw, width 100, recall 1.000"
    (site / "kernel" / "12-more.md").write_text("# More\n\nAnother page about something else.\n")
    assert ingested("ingest", str(site)).code == 0
    stale = check()
    assert stale["outcome"] == "warn"
    assert "measured on other rows" in stale["message"]
    assert stale["fix"] == "ragctl index recall"
    assert "ragctl index recall" in ingested("index", "status").err
    assert ingested("index", "recall").code == 0
    assert check()["outcome"] == "pass"
    assert ingested("ingest", str(site), "--rebuild").code == 0
    assert len(ingested("search", "queue", "--mode", "vector", "--json").document["passages"]) == 4
    assert ingested("why", "Do readers wait?", "--page", "/kernel/10-rcu").code in (0, 1)


def test_an_index_of_somebody_else_is_shown_as_such(ingested: Program, empty_url: str) -> None:
    with connect(empty_url) as connection:
        connection.execute("CREATE INDEX mine ON chunks USING hnsw (embedding vector_cosine_ops)")
    assert "mine (hnsw" in ingested("index", "status").out
    document = ingested("index", "status", "--json").document
    assert document["search"] == "exact"
    assert document["others"][0]["name"] == "mine"
    assert "mine (hnsw) is not ragctl's" in ingested("index", "drop").err


def test_without_an_ingest_there_is_nothing_to_index(ragctl: Program) -> None:
    assert ragctl("index", "create", "hnsw", "--yes").code == 3
    assert ragctl("index", "status").code == 3
    assert ragctl("index", "drop").code == 3


def test_why_tells_of_a_passage_that_the_index_misses(
    ingested: Program, site: Path, empty_url: str
) -> None:
    ingested("index", "create", "hnsw", "--yes")
    ready = "UPDATE pg_index SET indisready = %s WHERE indexrelid = 'chunks_nearest_hnsw'::regclass"
    (site / "kernel" / "12-more.md").write_text("# More\n\nAnother page about something else.\n")
    with connect(empty_url) as connection:  # the page's passage does not come into the index
        connection.execute(ready, (False,))
        assert ingested("ingest", str(site)).code == 0
        connection.execute(ready, (True,))
    ingested.set(RAGCTL_RETRIEVAL__K="1", RAGCTL_RETRIEVAL__MODE="vector")
    done = ingested("why", "Another page about something else.", "--page", "/kernel/12-more")
    assert done.code == 1
    assert "the vector index misses it" in done.out
    ingested("index", "drop")
    done = ingested("why", "Another page about something else.", "--page", "/kernel/12-more")
    assert "misses it" not in done.out


def test_a_missing_choice_is_told_on_one_line(ragctl: Program) -> None:
    done = ragctl("index", "create")
    assert done.code == 2
    assert "Choose from: hnsw" in done.err.splitlines()[0]
