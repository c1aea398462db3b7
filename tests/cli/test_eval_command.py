"""``ragctl eval retrieval`` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply, Request
from tests.program import Program
from tests.terminal import run_on_terminal

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
    table = done.out.partition("\n\n")[0]
    lines = [line.split() for line in table.splitlines()]
    assert [line[0] for line in lines] == ["mode", "hybrid", "vector", "keyword"]
    assert "vector against hybrid:" in done.out
    assert "keyword against hybrid:" in done.out
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
    assert f"{questions}:2: question is missing" in done.err
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


def test_every_share_has_an_interval_that_repeats(ragctl: Program, questions: Path) -> None:
    command = ("eval", "retrieval", str(questions), "--json", "-k", "1")
    document = ragctl(*command).document
    assert document["bootstrap"]["resamples"] == 2000
    assert document["bootstrap"]["seed"] == 0
    assert document["overall"]["intervals"]["facts_at_k"] == [0.0, 1.0]
    assert document["kinds"][0]["intervals"]["facts_at_k"] is None  # of one question
    assert ragctl(*command).document["overall"] == document["overall"]


def test_a_further_mode_says_which_questions_it_wins_and_loses(
    ragctl: Program, questions: Path
) -> None:
    lines = [
        {"id": "word", "question": "Of lazily?", "gold": [{"url": "/design/01-buckets"}]},
        {"id": "near", "question": "A queue?", "gold": [{"url": "/design/02-queues"}]},
        {"id": "none", "question": "Who won?"},
    ]
    questions.write_text("\n".join(json.dumps(each) for each in lines))
    modes = ("--mode", "keyword", "--mode", "vector", "-k", "1")
    against = ragctl("eval", "retrieval", str(questions), *modes, "--json").document["modes"][1][
        "against"
    ]
    assert against["mode"] == "keyword"
    decided = {each["id"]: each["by"] for each in (*against["won"], *against["lost"])}
    assert set(decided.values()) <= {"page", "rank"}
    assert len(decided) + against["alike"] == 2
    mean = against["differences"]["pages_at_1"]["mean"]
    assert mean == (len(against["won"]) - len(against["lost"])) / 2
    shown = ragctl("eval", "retrieval", str(questions), *modes)
    assert f"{len(against['won'])} won, {len(against['lost'])} lost" in shown.out


def test_a_figure_below_its_bound_fails_the_run_with_a_line_for_each(
    ragctl: Program, questions: Path
) -> None:
    command = ("eval", "retrieval", str(questions), "-k", "1", "--mode", "vector")
    kept = ragctl(*command, "--fail-under", "facts=0.5", "--fail-under", "pages@1=1")
    assert kept.code == 0
    assert "FAILED" not in kept.err
    failed = ragctl(
        *(*command, "--mode", "keyword"),
        *("--fail-under", "facts=0.6", "--fail-under", "sections=0.1"),
    )
    assert failed.code == 1
    lines = [line for line in failed.err.splitlines() if line.startswith("FAILED")]
    assert "FAILED vector facts: 0.5000 is below 0.6" in lines
    assert {line.split()[1] for line in lines} == {"vector", "keyword"}
    document = ragctl(*command, "--fail-under", "facts=0.6", "--json").document
    assert document["failed"] == [
        {"mode": "vector", "figure": "facts_at_k", "bound": 0.6, "value": 0.5}
    ]


def test_a_bound_on_a_figure_without_questions_fails_and_says_why(
    ragctl: Program, questions: Path
) -> None:
    questions.write_text('{"id": "a", "question": "Why?"}')
    done = ragctl("eval", "retrieval", str(questions), "--fail-under", "facts=0")
    assert done.code == 1
    assert "no question of the file counts for it" in done.err


@pytest.mark.parametrize("bound", ["fact=0.5", "facts=2", "facts"])
def test_a_bound_that_cannot_be_meant_is_a_usage_error(
    bound: str, ragctl: Program, tmp_path: Path
) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"id": "a", "question": "Why?"}')
    done = ragctl("eval", "retrieval", str(file), "--fail-under", bound)
    assert done.code == 2
    assert "facts, pages, pages@1, sections, mrr" in done.err


def test_a_run_is_stored_once_a_mode_unless_told_not_to(ragctl: Program, questions: Path) -> None:
    modes = ("--mode", "hybrid", "--mode", "vector")
    unstored = ragctl("eval", "retrieval", str(questions), *modes, "--no-store", "--json").document
    assert [each["run"] for each in unstored["modes"]] == [None, None]
    assert ragctl("eval", "history", "--json").document["runs"] == []
    stored = ragctl("eval", "retrieval", str(questions), *modes, "--json").document
    runs = ragctl("eval", "history", "--json").document["runs"]
    assert {run["id"] for run in runs} == {each["run"] for each in stored["modes"]}
    assert {run["label"] for run in runs} == {"hybrid", "vector"}
    (hybrid,) = (run for run in runs if run["label"] == "hybrid")
    assert hybrid["file"] == questions.name
    assert hybrid["file_sha256"] == stored["file_sha256"]
    assert hybrid["figures"]["facts_at_k"] == stored["overall"]["facts_at_k"]
    assert hybrid["before"] is None


def test_a_role_that_may_not_write_is_told_once_and_gets_its_figures(
    ragctl: Program, questions: Path, empty_url: str
) -> None:
    with connect(empty_url) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE reader_of_eval LOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_eval")
    separator = "&" if "?" in empty_url else "?"
    ragctl.set(RAGCTL_DATABASE_URL=f"{empty_url}{separator}user=reader_of_eval")
    modes = ("--mode", "hybrid", "--mode", "vector")
    done = ragctl("eval", "retrieval", str(questions), *modes)
    assert done.code == 0
    assert done.err.count("Not stored") == 1
    assert "Not stored" not in ragctl("eval", "retrieval", str(questions), "--no-store").err
    assert "No run is stored yet" in ragctl("eval", "history").err


def test_on_a_narrow_terminal_no_line_of_figures_breaks(ragctl: Program, questions: Path) -> None:
    modes = ("--mode", "hybrid", "--mode", "vector", "--mode", "keyword")
    narrow = {"COLUMNS": "60", "NO_COLOR": "1"}
    _, shown = run_on_terminal("eval", "retrieval", str(questions), *modes, environ=narrow)
    lines = shown.replace("\r\n", "\n").split("\n")
    head = next(
        number
        for number, line in enumerate(lines)
        if line.split() == ["hybrid", "vector", "keyword"]
    )
    figures = lines[head : head + 10]
    assert max(map(len, figures)) <= 60
    assert [line.split()[0] for line in figures[3:8]] == [
        "pages@1", "pages@5", "sections@5", "facts@5", "MRR"
    ]  # fmt: skip
    _, by_kind = run_on_terminal("eval", "retrieval", str(questions), environ=narrow)
    assert "unanswerable" in by_kind
    _, past = run_on_terminal("eval", "history", environ=narrow)
    assert "questions.jsonl, retrieval hybrid, k 5" in past
