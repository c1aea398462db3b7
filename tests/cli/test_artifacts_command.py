"""``--artifacts``, ``ragctl stage`` and ``ragctl diff`` as typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ragctl.artifacts.vectors import read_vectors
from ragctl.db.connect import connect
from ragctl.staging.answered import embedding_model_of
from tests.ollama_server import OllamaServer, Reply
from tests.program import Program

FILES = {
    "chunks.jsonl",
    "index.npz",
    "manifest.json",
    "parse.jsonl",
    "text",
    "vector_hashes.json",
    "vector_ids.json",
    "vectors.npy",
}
OF_AN_ANSWER = {"retrieved.json", "prompt.txt", "draft.json", "answer.json"}


def _names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def _manifest(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return loaded


@pytest.fixture
def build(ragctl: Program, site: Path) -> Path:
    """The artifacts of an ingest of the small site."""
    folder = ragctl.folder / "build"
    done = ragctl("ingest", str(site), "--artifacts", str(folder))
    assert done.code == 0, done.err
    return folder


def test_an_ingest_writes_four_boundaries_that_close(build: Path) -> None:
    assert _names(build) == FILES
    manifest = _manifest(build)
    assert [identity["closes"] for identity in manifest["identities"]] == [True, True, True]
    assert [record["command"] for record in manifest["stages"].values()] == ["ingest"] * 4
    assert len((build / "chunks.jsonl").read_text().splitlines()) == 3
    assert sorted(path.name for path in (build / "text").iterdir()) == [
        "design.txt",
        "design__01-buckets.txt",
        "design__02-queues.txt",
        "kernel__10-rcu.txt",
    ]


def test_unchanged_pages_are_there_too_and_cost_no_model(
    build: Path, ragctl: Program, site: Path, ollama: OllamaServer
) -> None:
    ollama.requests.clear()
    again = ragctl.folder / "again"
    done = ragctl("ingest", str(site), "--artifacts", str(again), "--json")
    assert done.document["tracks"][0]["unchanged"] > 0
    assert ollama.requests_to("/api/embed") == []
    for name in FILES - {"text"}:
        assert (again / name).read_bytes() == (build / name).read_bytes(), name
    assert ragctl("diff", str(build), str(again)).code == 0


def test_the_vectors_are_those_that_the_database_holds(
    build: Path, ragctl: Program, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        query = b"SELECT ref, embedding::text FROM chunks"
        stored = {row[0]: row[1] for row in connection.execute(query).fetchall()}
    found = read_vectors(build)
    assert set(found.ids) == set(stored)
    for ref, row in zip(found.ids, found.rows(), strict=True):
        assert json.loads(str(stored[ref])) == pytest.approx(row.tolist(), rel=1e-6)


def test_a_part_of_the_site_gives_the_artifacts_of_that_part(ragctl: Program, site: Path) -> None:
    folder = ragctl.folder / "part"
    ragctl("ingest", str(site), "--track", "kernel", "--artifacts", str(folder))
    assert len((folder / "parse.jsonl").read_text().splitlines()) == 1
    assert _manifest(folder)["stages"]["parse"]["parameters"]["tracks"] == ["kernel"]


def test_an_answer_writes_what_it_was_made_from(
    build: Path, ragctl: Program, ollama: OllamaServer
) -> None:
    done = ragctl("ask", "How does it refill?", "--artifacts", str(build), "--json")
    assert done.code == 0, done.err
    assert _names(build) == FILES | OF_AN_ANSWER
    sent = ollama.requests_to("/api/chat")[0].body["messages"][-1]["content"]
    assert (build / "prompt.txt").read_bytes() == sent.encode()
    answer = json.loads((build / "answer.json").read_text())
    assert answer.pop("prompt") == sent
    assert answer == done.document
    retrieved = json.loads((build / "retrieved.json").read_text())
    assert [hit["ref"] for hit in retrieved["hits"]] == [hit["ref"] for hit in answer["passages"]]
    assert embedding_model_of(build) == "ollama/nomic-embed-text"
    assert all(identity["closes"] for identity in _manifest(build)["identities"])


def test_an_answer_in_a_folder_of_its_own_can_be_rendered_and_asked_again(
    build: Path, ragctl: Program, ollama: OllamaServer
) -> None:
    ragctl("ask", "How does it refill?", "--artifacts", "alone")
    alone = ragctl.folder / "alone"
    assert _names(alone) == OF_AN_ANSWER | {"manifest.json"}
    ollama.requests.clear()
    for stage in ("render", "generate", "check"):
        assert "nothing to do" in ragctl("stage", stage, "--from", "alone").out
    ragctl.set(RAGCTL_GENERATION__PROMPT="strict")
    assert ragctl("stage", "render", "--from", "alone", "--json").document["skipped"] is False
    done = ragctl("stage", "generate", "--from", "alone")
    assert done.out.startswith("It refills lazily [1].")
    (sent,) = ollama.requests_to("/api/chat")
    assert sent.body["messages"][-1]["content"] == (alone / "prompt.txt").read_text()
    done = ragctl("stage", "retrieve", "--from", "alone")
    assert done.code == 2
    assert "ragctl stage index" in done.err


def test_a_model_that_fails_leaves_the_prompt_it_failed_on(
    build: Path, ragctl: Program, ollama: OllamaServer
) -> None:
    ollama.on("/api/chat", Reply(status=500, document={"error": "out of memory"}))
    assert ragctl("ask", "How?", "--model", "llama3", "--artifacts", str(build)).code == 5
    assert "Question: How?" in (build / "prompt.txt").read_text()
    assert not (build / "answer.json").exists()


def test_the_stages_go_on_from_the_files_without_a_database(
    build: Path, ragctl: Program, ollama: OllamaServer
) -> None:
    by_database = ragctl("ask", "How does it refill?", "--mode", "vector", "--json").document
    ragctl.set(RAGCTL_DATABASE_URL="postgresql://127.0.0.1:1/nowhere")
    ollama.requests.clear()
    for stage in ("chunk", "embed", "index"):
        done = ragctl("stage", stage, "--from", str(build))
        assert (done.code, "nothing to do" in done.out) == (0, True), done.err + done.out
    assert ollama.requests_to("/api/embed") == []
    done = ragctl("stage", "retrieve", "--from", str(build), "--question", "How does it refill?")
    assert done.code == 0, done.err
    assert "vectors alone" in done.err
    for stage in ("render", "generate", "check"):
        done = ragctl("stage", stage, "--from", str(build), "--json")
        assert done.document["skipped"] is False
        assert done.document["open_identities"] == []
    answer = json.loads((build / "answer.json").read_text())
    assert answer["answer"] == by_database["answer"]
    assert answer["citations"] == by_database["citations"]
    assert [hit["ref"] for hit in answer["passages"]] == [
        hit["ref"] for hit in by_database["passages"]
    ]


def _retrieved(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "retrieved.json").read_text())
    return loaded


def test_the_files_tell_what_found_the_passages(build: Path, ragctl: Program) -> None:
    page = "/design/01-buckets"
    for mode in ("hybrid", "vector", "keyword"):
        flags = ("--mode", mode, "--page", page, "--track", "design")
        assert ragctl("ask", "How does it refill?", *flags, "--artifacts", str(build)).code == 0
        found, recorded = _retrieved(build), _manifest(build)["stages"]["retrieve"]
        for document in (found, recorded["parameters"]):
            assert document["mode"] == mode
            assert (document["tracks"], document["pages"]) == (["design"], [page])
        assert recorded["counts"]["mode"] == mode
        assert bool(found["query_sha256"]) == (mode != "keyword")
        (hit,) = found["hits"]
        assert (hit["vector_score"] is not None) == (mode != "keyword")
        assert (hit["keyword_score"] is not None) == (mode != "vector")
    ragctl.set(OLLAMA_HOST="http://127.0.0.1:9")
    assert ragctl("ask", "How does it refill?", "--artifacts", str(build)).code == 0
    assert _retrieved(build)["mode"] == "keyword"


def test_a_stage_searches_by_vectors_alone_and_says_so_of_itself(
    build: Path, ragctl: Program
) -> None:
    page = "/design/02-queues"
    ragctl("ask", "How does it refill?", "--page", page, "--artifacts", str(build))
    before = ragctl.folder / "before"
    shutil.copytree(build, before)
    done = ragctl("stage", "retrieve", "--from", str(build))
    assert done.code == 0, done.err
    assert "The mode hybrid needs the database" in done.err
    found = _retrieved(build)
    assert (found["mode"], found["pages"]) == ("vector", [page])
    assert {hit["url"] for hit in found["hits"]} == {page}
    assert all(hit["keyword_score"] is None for hit in found["hits"])
    assert (
        "parameter retrieve.mode: hybrid -> vector" in ragctl("diff", str(before), str(build)).out
    )
    again = ragctl("stage", "retrieve", "--from", str(build))
    assert "nothing to do" in again.out
    assert "needs the database" not in again.err


def test_diff_shows_the_scores_of_passages_that_moved(build: Path, ragctl: Program) -> None:
    ragctl("ask", "token bucket", "--mode", "hybrid", "--artifacts", str(build))
    before = ragctl.folder / "before"
    shutil.copytree(build, before)
    ragctl("ask", "token bucket", "--mode", "keyword", "--artifacts", str(build))
    gone = [hit["ref"] for hit in _retrieved(before)["hits"]][-1]
    document = ragctl("diff", str(before), str(build), "--json").document
    (change,) = [one for one in document["boundaries"]["hits"]["changes"] if one["name"] == gone]
    (hit,) = [one for one in _retrieved(before)["hits"] if one["ref"] == gone]
    assert change["vector_score_before"] == hit["vector_score"]
    assert change["keyword_score_before"] == hit["keyword_score"] == 0
    told = f"({hit['score']:.4f}: vector {hit['vector_score']:.4f}, keyword 0.0000) -> absent"
    assert told in ragctl("diff", str(before), str(build)).out


def test_parse_needs_a_root_once(ragctl: Program, site: Path) -> None:
    done = ragctl("stage", "parse", "--from", "new")
    assert done.code == 2
    assert "--root" in done.err
    assert ragctl("stage", "parse", "--from", "new", "--root", str(site)).code == 0
    (site / "kernel/10-rcu.md").write_text("Other.")
    done = ragctl("stage", "parse", "--from", "new", "--json")
    assert done.document["skipped"] is False
    assert done.document["counts"]["pages"] == 4


def test_a_setting_that_a_stage_uses_makes_it_run_again(build: Path, ragctl: Program) -> None:
    ragctl.set(RAGCTL_CHUNKING__SIZE="60", RAGCTL_CHUNKING__OVERLAP="0")
    assert ragctl("stage", "chunk", "--from", str(build), "--json").document["skipped"] is False
    done = ragctl("stage", "index", "--from", str(build))
    assert done.code == 2
    assert "ragctl stage embed" in done.err


def test_options_of_another_stage_are_refused(build: Path, ragctl: Program) -> None:
    assert ragctl("stage", "chunk", "--from", str(build), "--question", "How?").code == 2
    assert ragctl("stage", "index", "--from", str(build), "--root", "x").code == 2
    assert ragctl("stage", "nonsense", "--from", str(build)).code == 2


def test_diff_says_what_changed_and_where_the_runs_part(
    build: Path, ragctl: Program, site: Path
) -> None:
    ragctl("ask", "Readers?", "--artifacts", str(build))
    before = ragctl.folder / "before"
    shutil.copytree(build, before)
    (site / "kernel/10-rcu.md").write_text("---\ntitle: RCU\n---\nReaders never block.\n")
    ragctl("ingest", str(site), "--artifacts", str(build))
    ragctl("ask", "Readers?", "--artifacts", str(build))
    done = ragctl("diff", str(before), str(build))
    assert done.code == 1
    assert "~ /kernel/10-rcu  source, text" in done.out
    assert "part at pages" in done.err
    document = ragctl("diff", str(before), str(build), "--json").document
    assert document["schema"] == "ragctl.diff/1"
    assert document["first_difference"] == "pages"
    assert document["boundaries"]["pages"]["counts"]["changed"] == 1
    assert document["boundaries"]["vectors"]["changes"][0]["cosine"] < 0.9999
    assert document["boundaries"]["prompt"]["counts"]["changed"] == 1


def test_diff_of_a_folder_that_is_none_is_a_usage_error(build: Path, ragctl: Program) -> None:
    done = ragctl("diff", str(build), "nowhere")
    assert done.code == 2
    assert "nowhere" in done.err


def test_artifacts_do_not_go_where_they_would_be_read_or_lie_among_other_files(
    ragctl: Program, site: Path
) -> None:
    done = ragctl("ingest", str(site), "--artifacts", str(site / "build"))
    assert done.code == 2
    assert "inside the content folder" in done.err
    (ragctl.folder / "mine").mkdir()
    (ragctl.folder / "mine" / "prompt.txt").write_text("mine")
    done = ragctl("ingest", str(site), "--artifacts", "mine")
    assert done.code == 2
    assert "not empty" in done.err
    assert ragctl("ask", "How?").code == 3  # it is said before anything is stored
    assert ragctl("ingest", str(site), "--artifacts", "x", "--dry-run").code == 2
