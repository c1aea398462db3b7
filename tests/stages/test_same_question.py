"""Questions that sound alike and ask for something else are told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragctl.stages.same_question import differences

GROUPS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "same_questions.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["id"])
def test_no_trap_passes_for_its_original(group: dict[str, list[str]]) -> None:
    for trap in group["traps"]:
        assert differences(str(group["original"]), trap), trap


def test_most_rewordings_pass() -> None:
    pairs = [(group["original"], same) for group in GROUPS for same in group["same"]]
    passed = [pair for pair in pairs if not differences(*pair)]
    assert len(passed) >= 39


def test_no_question_passes_for_one_of_another_group() -> None:
    for group in GROUPS:
        for other in GROUPS:
            if other is not group:
                for asked in (*other["same"], *other["traps"]):
                    assert differences(group["original"], asked), asked


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("How do I add a node?", "How do I remove a node?", "opposites"),
        ("Is it safe to retry?", "Is it not safe to retry?", "negation"),
        ("What is the limit with a lock?", "What is the limit without a lock?", "negation"),
        ("What are the advantages of sharding?", "What are the disadvantages of sharding?", "opp"),
        ("What happens before a commit?", "What happens after a commit?", "opposites"),
        ("What is the first step?", "What is the last step?", "opposites"),
        ("What does it cost per year?", "What does it cost per month?", "units"),
        ("What is new in 1.70?", "What is new in 1.71?", "numbers"),
        ("What does `SET` do?", "What does `GET` do?", "quotes"),
        ("When to use TCP instead of UDP?", "When to use UDP instead of TCP?", "order"),
        ("Can I edit a review?", "Must I edit a review?", "may or must"),
        ("Why does it fail?", "When does it fail?", "kind of question"),
        ("What does bpf_map_lookup do?", "What does bpf_map_update do?", "names"),
        ("Which is the faster index?", "Which is the slower index?", "opposites"),
    ],
)
def test_a_difference_is_told_whichever_comes_first(one: str, other: str, told: str) -> None:
    assert any(told in difference for difference in differences(one, other))
    assert any(told in difference for difference in differences(other, one))


def test_a_question_is_the_same_as_itself() -> None:
    for group in GROUPS:
        assert differences(group["original"], group["original"]) == ()
