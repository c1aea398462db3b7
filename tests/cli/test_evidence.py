"""What is said before an answer about how likely the passages can give one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.records.evidence import Calibration
from tests.ollama_server import OllamaServer, chat
from tests.program import Program


@pytest.fixture
def ingested(ragctl: Program, site: Path) -> Program:
    """The program after an ingest with a model server that answers."""
    assert ragctl("ingest", str(site)).code == 0
    return ragctl


def _calibrate(*, bias: float) -> None:
    """Store a calibration that gives every question the same probability."""
    same = Calibration(
        embedding_model="ollama/nomic-embed-text", bias=bias, cosine=0.0, match=0.0, questions=20
    )
    url = os.environ["RAGCTL_DATABASE_URL"]
    with Database.over(connect(url), url) as database:
        database.calibrations.store(same, figures={})


def test_without_a_calibration_no_probability_is_told(ingested: Program) -> None:
    done = ingested("ask", "Does a llama refill the moon?")
    assert "probability" not in done.err
    evidence = ingested("ask", "Does a llama refill?", "--json").document["evidence"]
    assert evidence["probability"] is None and evidence["verdict"] == ""
    assert 0 < evidence["idf_share"] < 1


def test_what_is_probably_not_covered_is_said_before_the_answer(ingested: Program) -> None:
    _calibrate(bias=-3)
    done = ingested("ask", "How does Paxos elect a leader?")
    assert "probably does not cover this (probability of an answer 0.05)" in done.err
    assert "It refills lazily" in done.out  # a model was asked all the same
    document = ingested("ask", "How does Paxos elect a leader?", "--json").document
    assert document["evidence"]["verdict"] == "not covered"
    trace = ingested("trace", "last", "--json").document
    assert trace["evidence"]["probability"] == pytest.approx(0.0474, abs=1e-3)


def test_without_a_model_nothing_is_quoted_then_and_the_nearest_pages_are_named(
    ingested: Program,
) -> None:
    _calibrate(bias=-3)
    ingested.set(RAGCTL_GENERATION__PROVIDER="extractive")
    done = ingested("ask", "How does Paxos elect a leader?")
    assert "do not cover this question" in done.out
    assert "Nearest pages" in done.out and "/design/01-buckets" in done.out
    assert "It cites no passage" not in done.err
    document = ingested("ask", "How does Paxos elect a leader?", "--json").document
    assert document["refused"] is True
    assert document["nearest"][0]["link"].startswith("/")


def test_a_rare_name_that_stands_in_the_site_is_shown_instead_of_not_covered(
    ragctl: Program, site: Path
) -> None:
    (site / "kernel" / "12-names.md").write_text(
        "---\ntitle: Names\n---\nThe record is `bpf_reg_state`, one a register.\n", encoding="utf-8"
    )
    ragctl("ingest", str(site))
    _calibrate(bias=-3)
    done = ragctl("ask", "How large is bpf_reg_state on Mars?")
    assert "does not cover" not in done.err
    assert "Weak evidence; bpfregstate stands in [" in done.err
    ragctl.set(RAGCTL_GENERATION__PROVIDER="extractive")
    done = ragctl("ask", "How large is bpf_reg_state on Mars?")
    assert "bpf_reg_state" in done.out and "do not cover" not in done.out


def test_a_refusal_against_strong_evidence_has_the_passages_quoted_beneath(
    ingested: Program, ollama: OllamaServer
) -> None:
    _calibrate(bias=4)
    ollama.on("/api/chat", chat("The passages do not say."))
    done = ingested("ask", "When does the token bucket refill?")
    assert "What the passages say" in done.out
    assert "refills lazily" in done.out and "[1]" in done.out
    assert "refused although" in done.err
    document = ingested("ask", "When does the token bucket refill?", "--json").document
    assert document["refused"] is True and "refills lazily" in document["beneath"]
    assert "refused_despite_evidence" in {p["code"] for p in document["problems"]}


def test_a_refusal_against_weak_evidence_stays_a_refusal(
    ingested: Program, ollama: OllamaServer
) -> None:
    _calibrate(bias=0.2)
    ollama.on("/api/chat", chat("The passages do not say."))
    document = ingested("ask", "When does the token bucket refill?", "--json").document
    assert document["beneath"] == "" and document["nearest"]


def _questions(path: Path, *, answerable: int, unanswerable: int) -> Path:
    words = ["bucket", "queue", "request", "work", "reader", "writer", "token"]
    lines: list[dict[str, object]] = [
        {
            "id": f"a{n}",
            "question": f"What about the {words[n % 7]} and the {words[(n + 1) % 7]} {n}?",
            "gold": [{"url": "/design/02-queues"}],
        }
        for n in range(answerable)
    ]
    lines += [
        {"id": f"u{n}", "question": f"Why zebra{n} xylophone{n}?", "answerable": False}
        for n in range(unanswerable)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_a_calibration_is_fitted_reported_stored_and_in_force(
    ingested: Program, tmp_path: Path
) -> None:
    file = _questions(tmp_path / "q.jsonl", answerable=12, unanswerable=11)
    done = ingested("eval", "calibrate", str(file), "--json")
    assert done.code == 0, done.out + done.err
    document = done.document
    assert document["schema"] == "ragctl.eval_calibrate/1"
    assert document["calibration"]["questions"] == 23
    assert document["not_covered"]["unanswerable"] == 11 and document["before"] is None
    evidence = ingested("ask", "Why zebra xylophone?", "--json").document["evidence"]
    assert evidence["probability"] is not None
    other = _questions(tmp_path / "t.jsonl", answerable=3, unanswerable=2)
    again = ingested("eval", "calibrate", str(file), "--test", str(other), "--no-store")
    assert "in force before" in again.out and "Not stored" in again.err
    assert "3" in again.out


@pytest.mark.parametrize(("answerable", "unanswerable"), [(12, 3), (2, 12)])
def test_too_few_questions_of_a_kind_are_refused_and_nothing_is_stored(
    answerable: int, unanswerable: int, ingested: Program, tmp_path: Path
) -> None:
    file = _questions(tmp_path / "q.jsonl", answerable=answerable, unanswerable=unanswerable)
    done = ingested("eval", "calibrate", str(file))
    assert done.code == 2
    assert f"{answerable} questions that the site answers and {unanswerable}" in done.err
    assert ingested("ask", "Why?", "--json").document["evidence"]["probability"] is None
