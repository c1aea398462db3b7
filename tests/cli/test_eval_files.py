"""``ragctl eval history``, ``make`` and ``lint`` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from tests.db.test_evaluations import run
from tests.ollama_server import OllamaServer
from tests.program import Program

LINE = {
    "id": "a",
    "question": "When is the bucket filled again?",
    "kind": "natural",
    "gold": [{"url": "/design/01-buckets", "section": "The token bucket"}],
    "must_contain": ["refills lazily"],
}


@pytest.fixture
def ingested(ragctl: Program, site: Path, ollama: OllamaServer) -> Program:
    """The program with a site that has a name to ask about."""
    page = site / "kernel/10-rcu.md"
    page.write_text(page.read_text() + "\n## Grace periods\n\nCall `synchronize_rcu` to wait.\n")
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A file with one sound question."""
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps(LINE) + "\n")
    return file


def test_history_shows_what_changed_and_that_the_index_is_another(
    ingested: Program, questions: Path, site: Path
) -> None:
    assert ingested("eval", "retrieval", str(questions)).code == 0
    (site / "design/01-buckets.md").write_text("# Rate limiter\n\nNothing.\n\n## New\n\nX.\n")
    assert ingested("ingest", str(site)).code == 0
    assert ingested("eval", "retrieval", str(questions)).code == 0
    newest, oldest = ingested("eval", "history", "--json").document["runs"]
    assert newest["before"]["id"] == oldest["id"]
    assert newest["before"]["changes"]["facts_at_k"] == -1.0
    assert newest["before"]["differs"] == ["passages"]
    shown = ingested("eval", "history")
    assert shown.code == 0
    head, first, second = shown.out.splitlines()
    assert head.split()[:5] == ["at", "file", "kind", "label", "k"]
    assert "0.00 -1.00" in first
    assert "other index (passages)" in first
    assert "other index" not in second


def test_history_can_be_narrowed_and_is_plain_when_empty(
    ingested: Program, questions: Path
) -> None:
    empty = ingested("eval", "history")
    assert (empty.code, empty.out) == (0, "")
    assert "No run is stored yet" in empty.err
    for _ in range(3):
        ingested("eval", "retrieval", str(questions))

    def count(*flags: str) -> int:
        return len(ingested("eval", "history", "--json", *flags).document["runs"])

    assert count() == 3
    assert count("--limit", "2") == 2
    assert count("--kind", "retrieval", "--file", str(questions)) == 3
    assert count("--kind", "answers") == 0
    assert "No stored run fits" in ingested("eval", "history", "--file", "other.jsonl").err
    assert ingested("eval", "history", "--limit", "0").code == 2


def test_history_shows_figures_of_other_kinds_by_their_own_names(
    ingested: Program, questions: Path, empty_url: str
) -> None:
    ingested("eval", "retrieval", str(questions))
    answers = run(1, kind="answers", label="[bold]", figures={"supported": 0.9, "seconds": 3.25})
    with Database.over(connect(empty_url), empty_url) as database:
        database.evaluations.record([(answers, [])])
    shown = ingested("eval", "history").out.split("\n\n")
    (table,) = (table for table in shown if "answers" in table)
    head, line = table.splitlines()
    assert head.split()[-6:] == ["supported", "seconds", "since", "the", "run", "before"]
    assert "[bold]" in line
    assert "3.25" in line
    assert "0.90" in line


def test_make_prints_lines_that_the_other_commands_take(ingested: Program, tmp_path: Path) -> None:
    done = ingested("eval", "make")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert {line["kind"] for line in lines} == {"heading", "identifier"}
    assert all(line["draft"] is True for line in lines)
    assert {gold["url"] for line in lines for gold in line["gold"]} <= {
        "/design/01-buckets",
        "/design/02-queues",
        "/kernel/10-rcu",
    }
    (name,) = (line for line in lines if line["kind"] == "identifier")
    assert name["must_contain"] == ["synchronize_rcu"]
    assert name["gold"] == [{"url": "/kernel/10-rcu", "section": "Grace periods"}]
    assert "reword" in done.err
    assert done.out == ingested("eval", "make", "--seed", "0").out
    file = tmp_path / "drafts.jsonl"
    file.write_text(done.out)
    assert ingested("eval", "lint", str(file)).code == 0
    assert ingested("eval", "retrieval", str(file)).code == 0


def test_make_writes_over_no_file_unless_forced(ingested: Program, tmp_path: Path) -> None:
    file = tmp_path / "drafts.jsonl"
    assert ingested("eval", "make", "--output", str(file)).out == ""
    kept = file.read_text()
    refused = ingested("eval", "make", "--output", str(file), "--count", "1")
    assert refused.code == 2
    assert "--force" in refused.err
    assert file.read_text() == kept
    forced = ingested("eval", "make", "--output", str(file), "--count", "1", "--force")
    assert forced.code == 0
    assert len(file.read_text().splitlines()) == 1


def test_make_asks_of_the_tracks_given_and_says_what_it_lacks(ingested: Program) -> None:
    done = ingested("eval", "make", "--track", "kernel", "--count", "50")
    assert {json.loads(line)["track"] for line in done.out.splitlines()} == {"kernel"}
    assert "50 were asked for" in done.err
    unknown = ingested("eval", "make", "--track", "kernal")
    assert unknown.code == 2
    assert "design, kernel" in unknown.err


def test_make_has_nothing_to_ask_about_a_site_without_headings(
    ragctl: Program, tmp_path: Path
) -> None:
    root = tmp_path / "plain"
    (root / "t").mkdir(parents=True)
    (root / "t/a.md").write_text("Words alone.\n")
    ragctl("ingest", str(root))
    assert ragctl("eval", "make").code == 3


def test_lint_says_that_a_sound_file_is_sound(ingested: Program, questions: Path) -> None:
    done = ingested("eval", "lint", str(questions))
    assert (done.code, done.out) == (0, "")
    assert "1 question, no findings." in done.err


def test_lint_names_file_and_line_of_every_finding(ingested: Program, questions: Path) -> None:
    lines = [
        "{",
        json.dumps(LINE),
        json.dumps({**LINE, "id": "b", "gold": [{"url": "/design/01-bucket"}]}),
        json.dumps({**LINE, "id": "c", "question": "Refills  LAZILY or not?"}),
    ]
    questions.write_text("\n".join(lines))
    done = ingested("eval", "lint", str(questions))
    assert done.code == 1
    shown = done.out.splitlines()
    assert shown[0].startswith(f"{questions}:1: finding: ")
    assert shown[1].startswith(f"{questions}:3: finding: b: there is no page")
    assert "/design/01-buckets" in shown[1]
    assert f"{questions}:4: note: c: the question holds the fact" in shown[-1]
    document = ingested("eval", "lint", str(questions), "--json").document
    assert document["schema"] == "ragctl.eval_lint/1"
    assert (document["questions"], document["findings"]) == (4, len(shown) - document["notes"])
    assert [each["code"] for each in document["lines"]][:2] == ["malformed", "unknown_page"]


def test_notes_alone_fail_nothing(ingested: Program, questions: Path) -> None:
    questions.write_text(json.dumps({**LINE, "kind": None}))
    done = ingested("eval", "lint", str(questions))
    assert done.code == 0
    assert "note" in done.out


def test_lint_shows_control_characters_of_a_file_as_replacements(
    ingested: Program, questions: Path
) -> None:
    questions.write_text(json.dumps({**LINE, "must_contain": ["\x1b[31mred"]}))
    done = ingested("eval", "lint", str(questions))
    assert done.code == 1
    assert "\x1b" not in done.out


def test_lint_of_no_questions_and_of_no_file_is_a_usage_error(
    ingested: Program, questions: Path
) -> None:
    questions.write_text("\n\n")
    assert ingested("eval", "lint", str(questions)).code == 2
    assert ingested("eval", "lint", "absent.jsonl").code == 2


def test_without_an_index_there_is_nothing_to_draft_from_or_check_against(
    ragctl: Program, questions: Path
) -> None:
    assert ragctl("eval", "make").code == 3
    assert ragctl("eval", "lint", str(questions)).code == 3
    assert ragctl("eval", "history").code == 3
