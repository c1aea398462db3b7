"""Which questions are one question without a model."""

from __future__ import annotations

import pytest

from ragctl.cache.keys import normalised, scope_of


@pytest.mark.parametrize(
    "same",
    ["What is RCU?", "what is rcu", "  What\tis \n RCU ?!", "WHAT IS RCU...", "What is ＲＣＵ？"],
)
def test_case_blanks_and_marks_at_the_end_do_not_count(same: str) -> None:
    assert normalised(same) == "what is rcu"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What does curl -o do?", "What does curl -O do?"),
        ("What does `map` do?", "What does `Map` do?"),
        ("What is 10² ?", "What is 102?"),
        ("What is H₂?", "What is H2?"),
        ("What is C?", "What is C++?"),
        ("What is C?", "What is C#?"),
        ("What is a.b?", "What is a b?"),
    ],
)
def test_what_may_be_another_question_stays_another(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_marks_alone_are_a_question_of_their_own() -> None:
    assert normalised("?!") != normalised("...")


def test_a_scope_depends_on_every_value_and_not_on_their_order() -> None:
    assert scope_of({"a": 1, "b": "x"}) == scope_of({"b": "x", "a": 1})
    assert scope_of({"a": 1, "b": "x"}) != scope_of({"a": 1, "b": "y"})
    assert scope_of({"a": "1", "b": ""}) != scope_of({"a": "", "b": "1"})
