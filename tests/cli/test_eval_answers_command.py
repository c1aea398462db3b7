"""``ragctl eval answers`` as typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, Reply, Request, chat
from tests.program import Program
from tests.terminal import run_on_terminal

LAZY = "The token bucket refills lazily, when a request arrives"
QUESTIONS: list[dict[str, object]] = [
    {
        "id": "a",
        "question": "How does the bucket refill?",
        "kind": "natural",
        "gold": [{"url": "/design/01-buckets", "section": "The token bucket"}],
        "must_contain": ["refills lazily"],
    },
    {
        "id": "b",
        "question": "Do readers wait?",
        "kind": "natural",
        "gold": [{"url": "/kernel/10-rcu"}],
        "must_contain": ["never wait", "grace period"],
    },
    {"id": "c", "question": "Who won the cup?", "kind": "off-site", "answerable": False},
    {"id": "d", "question": "How many pages are there?", "kind": "structural"},
]


def good(request: Request) -> Reply:
    """Answer each question as a good model does, citing the right passage by its number."""
    prompt = request.body["messages"][-1]["content"]
    if "Who won" in prompt:
        return chat("The passages do not say.")
    words = "token bucket refills" if "bucket refill?" in prompt else "Readers never"
    before = prompt.partition(words)[0]
    number = before.rpartition("\n[")[2].partition("]")[0]
    return chat(f"{LAZY if 'bucket' in words else 'Readers never wait for writers'} [{number}].")


def poor(request: Request) -> Reply:
    """Answer everything, and cite what is not there."""
    return chat("It was won by Norway in 1998 [9].")


def by_model(request: Request) -> Reply:
    """Let one model be better than the other."""
    return poor(request) if request.body["model"].startswith("poor") else good(request)


@pytest.fixture
def questions(ragctl: Program, site: Path, ollama: OllamaServer, tmp_path: Path) -> Path:
    """An ingested site, two models and a file of questions."""
    names = ("nomic-embed-text", "llama3", "poor")
    models = [{"name": f"{name}:latest", "digest": f"digest-of-{name}"} for name in names]
    ollama.on("/api/tags", Reply(document={"models": models}))
    ollama.on("/api/chat", by_model)
    assert ragctl("ingest", str(site)).code == 0
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(json.dumps(question) for question in QUESTIONS) + "\n")
    return file


def test_answers_are_held_against_their_labels_by_kind_and_for_all(
    ragctl: Program, questions: Path
) -> None:
    done = ragctl("eval", "answers", str(questions), "--json")
    assert done.code == 0, done.err
    document = done.document
    assert document["schema"] == "ragctl.eval_answers/1"
    assert (document["route"], document["asked"]) == ("ollama/llama3", 4)
    overall = document["overall"]
    assert (overall["questions"], overall["answerable"]) == (4, 3)
    for name, share in {
        "answered": 1.0,
        "refusal_recall": 1.0,
        "refusal_precision": 1.0,
        "facts": 0.5,
        "any_fact": 1.0,
        "cited": 1.0,
        "gold_page": 1.0,
        "gold_section": 1.0,
        "supported": 1.0,
        "problems": 0.0,
    }.items():
        assert overall[name] == share, name
    assert overall["claims"]["supported"] == {"count": 2, "share": 1.0}
    assert (overall["from_list"], overall["failed"], overall["refused"]) == (1, 0, 1)
    assert overall["intervals"]["facts"] == [0.0, 1.0]
    assert [row["kind"] for row in document["kinds"]] == ["natural", "off-site", "structural"]
    second = document["questions"][1]
    assert second["missing_facts"] == ["grace period"]
    assert second["citations"][0]["url"] == "/kernel/10-rcu"
    assert document["questions"][3]["route"] == "catalogue"
    assert ragctl("trace", "--json").document["traces"] == []


def test_models_are_asked_one_after_the_other_and_compared(
    ragctl: Program, questions: Path, ollama: OllamaServer
) -> None:
    done = ragctl("eval", "answers", str(questions), "--model", "llama3,poor")
    assert done.code == 0, done.err
    asked = [request.body["model"] for request in ollama.requests_to("/api/chat")]
    assert asked == ["llama3"] * 3 + ["poor"] * 3
    table = done.out.partition("\n\n")[0]
    assert [line.split()[0] for line in table.splitlines()] == [
        "written", "ollama/llama3", "ollama/poor"
    ]  # fmt: skip
    assert "ollama/poor against ollama/llama3: 0 won, 3 lost, 1 alike" in done.out
    document = ragctl("eval", "answers", str(questions), "--model", "llama3,poor", "--json")
    against = document.document["routes"][1]["against"]
    assert {each["id"]: each["by"] for each in against["lost"]} == {
        "a": "facts", "b": "page", "c": "refused"
    }  # fmt: skip
    assert document.document["routes"][1]["overall"]["cited"] == 0.0


def test_runs_are_stored_by_route_and_shown_beside_those_of_retrieval(
    ragctl: Program, questions: Path
) -> None:
    stored = ragctl("eval", "answers", str(questions), "--json").document
    ragctl("eval", "answers", str(questions))
    ragctl("eval", "answers", str(questions), "--no-store")
    ragctl("eval", "retrieval", str(questions))
    runs = ragctl("eval", "history", "--kind", "answers", "--json").document["runs"]
    assert [run["label"] for run in runs] == ["ollama/llama3"] * 2
    assert runs[1]["id"] == stored["run"]
    assert runs[1]["figures"]["facts"] == 0.5
    assert runs[0]["before"]["id"] == stored["run"]
    shown = ragctl("eval", "history").out
    assert "refused-rightly" in shown
    assert "pages@k" in shown
    assert "0.50 =" in shown
    assert len(shown.split("\n\n")) == 2  # a table a kind


def test_the_first_questions_alone_are_measured_and_not_stored(
    ragctl: Program, questions: Path, ollama: OllamaServer
) -> None:
    done = ragctl("eval", "answers", str(questions), "--limit", "1")
    assert done.code == 0
    assert len(ollama.requests_to("/api/chat")) == 1
    assert "Not stored: 1 of 4 questions were asked" in done.err
    assert ragctl("eval", "history", "--json").document["runs"] == []


def test_a_figure_below_its_bound_fails_the_run(ragctl: Program, questions: Path) -> None:
    command = ("eval", "answers", str(questions))
    assert ragctl(*command, "--fail-under", "facts=0.5", "--fail-under", "refused=1").code == 0
    models = ("--model", "llama3,poor")
    failed = ragctl(*command, *models, "--fail-under", "cited=0.9", "--json")
    assert failed.code == 1
    assert "FAILED ollama/poor cited: 0.0000 is below 0.9" in failed.err
    assert [each["route"] for each in failed.document["failed"]] == ["ollama/poor"]
    unknown = ragctl(*command, "--fail-under", "pages@1=0.5")
    assert unknown.code == 2
    assert "refused-rightly" in unknown.err


def test_without_a_model_the_passages_are_quoted_and_counted_as_such(
    ragctl: Program, questions: Path
) -> None:
    ragctl.set(RAGCTL_GENERATION__PROVIDER="extractive")
    document = ragctl("eval", "answers", str(questions), "--json").document
    assert document["route"] == "extractive"
    assert document["overall"]["extractive"] == 4 - 1 - document["overall"]["refused"]


def test_a_model_that_is_not_there_ends_it_before_any_question(
    ragctl: Program, questions: Path, ollama: OllamaServer
) -> None:
    done = ragctl("eval", "answers", str(questions), "--model", "llama3,absent")
    assert done.code == 5
    assert "absent" in done.err
    assert not ollama.requests_to("/api/chat")


def test_a_question_whose_model_fails_is_named_and_counted(
    ragctl: Program, questions: Path, ollama: OllamaServer
) -> None:
    broken = Reply(status=500, document={"error": "out of memory"})
    ollama.on("/api/chat", good, broken, good)
    done = ragctl("eval", "answers", str(questions))
    assert done.code == 0
    assert "FAILED b:" in done.err
    assert "out of memory" in done.err


def test_a_stopped_run_says_how_far_it_came_and_stores_nothing(
    ragctl: Program, questions: Path, ollama: OllamaServer
) -> None:
    waiting = threading.Event()

    def hangs(request: Request) -> Reply:
        waiting.set()
        return Reply(packets=[], end="hang")

    ollama.on("/api/chat", good, hangs)
    process = subprocess.Popen(
        [sys.executable, "-m", "ragctl", "eval", "answers", str(questions)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert waiting.wait(30)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == b""
    assert b"Stopped after 1 of 4 questions; nothing was stored." in err
    assert ragctl("eval", "history", "--json").document["runs"] == []


def test_on_a_narrow_terminal_no_line_of_figures_breaks(ragctl: Program, questions: Path) -> None:
    narrow = {"COLUMNS": "60", "NO_COLOR": "1"}
    models = ("--model", "llama3,poor")
    _, shown = run_on_terminal("eval", "answers", str(questions), *models, environ=narrow)
    lines = shown.replace("\r\n", "\n").split("\n")
    head = next(
        n for n, line in enumerate(lines) if line.split() == ["ollama/llama3", "ollama/poor"]
    )
    assert max(map(len, lines[head : head + 19])) <= 60
    assert [line.split()[0] for line in lines[head + 3 : head + 7]] == [
        "answered", "refused", "refused-rightly", "facts"
    ]  # fmt: skip


def test_each_route_of_the_settings_answers_on_its_own(
    ragctl: Program, questions: Path, ollama: OllamaServer, tmp_path: Path
) -> None:
    own = tmp_path / "config/ragctl/config.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(
        f'[[routes]]\nname = "big"\nmodel = "llama3"\nurl = "{ollama.url}"\n'
        f'[[routes]]\nname = "small"\nmodel = "poor"\nurl = "{ollama.url}"\n'
    )
    document = ragctl("eval", "answers", str(questions), "--route", "big,small", "--json").document
    models = {request.body["model"] for request in ollama.requests_to("/api/chat")}
    assert models == {"llama3", "poor"}
    told = json.dumps(document)
    assert '"big"' in told and '"small"' in told
    done = ragctl("eval", "answers", str(questions), "--route", "small,absent")
    assert done.code == 2
    assert "no route 'absent'" in done.err and "big, small" in done.err
    both = ragctl("eval", "answers", str(questions), "--route", "big", "--model", "llama3")
    assert both.code == 2
