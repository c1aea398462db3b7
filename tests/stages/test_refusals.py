"""Refusals told from answers, in wordings that no pattern was written for, and their rates."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from ragctl.stages.refusals import declines, is_refusal

LABELLED = Path(__file__).parent.parent / "data" / "refusals.jsonl"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("The passages do not say.", True),
        ("The passages don't contain the answer.", True),
        ("There is no mention of PFCOUNT in the provided passages.", True),
        ("I cannot answer that from these passages.", True),
        ("None of the passages cover sourdough.", True),
        ("The **passages** do not mention this. Please look elsewhere.", True),
        ("The passage [3] does not provide any information on hashing.", True),
        ("The passages do not answer directly. However, latency is meant [2].", False),
        ("The passages give no number, but the cache holds recent pages [2].", False),
        ("The passages do not mention Redis. Redis is an in-memory data store.", False),
        ("There is no mention of the type in the signature, as it is inferred [1].", False),
        ("It refills when a request arrives [1].", False),
        ("It refills when a request arrives.", False),
        ("", False),
    ],
)
def test_a_refusal_is_told_from_a_hedge(text: str, refused: bool) -> None:
    assert is_refusal(text) is refused


def test_a_sentence_that_hedges_and_then_states_is_one_to_be_checked() -> None:
    assert declines("The passages do not give a limit.")
    assert not declines("The passages do not give a limit, but the table lists 250 ms [2].")


def test_few_of_the_labelled_answers_not_tuned_on_are_misjudged() -> None:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["split"] == "test"]
    wrong = Counter(r["label"] for r in rows if is_refusal(r["text"]) != (r["label"] == "refusal"))
    assert Counter(row["label"] for row in rows) == {"refusal": 30, "answer": 30}
    assert wrong["refusal"] <= 1, "one of 30 was missed when it was measured"
    assert wrong["answer"] <= 1, "one of 30 was taken for a refusal when it was measured"
