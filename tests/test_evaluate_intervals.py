"""Intervals, differences between two searches, and bounds that must be kept."""

from __future__ import annotations

import pytest

from ragctl.errors import UsageError
from ragctl.evaluate.bootstrap import differences, interval, intervals
from ragctl.evaluate.bounds import NAMES, Bound, broken_bounds, parse_bounds
from ragctl.evaluate.comparison import Decided, compare_searches
from ragctl.evaluate.retrieval import Scored, score, shares, values
from tests.test_evaluate_retrieval import hits, known


def test_an_interval_holds_its_mean_and_repeats() -> None:
    values = [1.0] * 30 + [0.0] * 10
    found = interval(values)
    assert found is not None
    assert found.low < 0.75 < found.high
    assert found == interval(values)
    assert found != interval(values, seed=1)


def test_an_interval_is_about_that_of_the_normal_approximation() -> None:
    found = interval([1.0] * 80 + [0.0] * 20)
    assert found is not None
    half = 1.96 * (0.8 * 0.2 / 100) ** 0.5
    assert found.low == pytest.approx(0.8 - half, abs=0.02)
    assert found.high == pytest.approx(0.8 + half, abs=0.02)


def test_more_questions_give_a_narrower_interval() -> None:
    few, many = interval([1.0, 0.0] * 5), interval([1.0, 0.0] * 200)
    assert few is not None
    assert many is not None
    assert many.high - many.low < (few.high - few.low) / 3


def test_fewer_than_two_questions_have_no_interval() -> None:
    assert interval([]) is None
    assert interval([1.0]) is None


def test_a_figure_is_drawn_over_the_questions_that_count_for_it() -> None:
    found = intervals([{"a": 1.0, "b": None}, {"a": 0.0, "b": None}, {"a": None, "b": 1.0}])
    assert found["a"] == interval([1.0, 0.0])
    assert found["b"] is None


def test_a_paired_difference_is_narrower_than_two_figures_apart() -> None:
    first = [{"a": float(number % 2)} for number in range(60)]
    second = [{"a": each["a"]} for each in first]
    second[0] = {"a": 1.0}
    (found,) = differences(first, second)
    alone = interval([each["a"] for each in first])
    assert found.interval is not None
    assert alone is not None
    assert found.mean == pytest.approx(1 / 60)
    assert found.interval.high - found.interval.low < (alone.high - alone.low) / 2


def test_a_difference_counts_questions_that_count_for_both() -> None:
    (found,) = differences([{"a": None}, {"a": 1.0}], [{"a": 1.0}, {"a": 0.0}])
    assert (found.mean, found.questions, found.interval) == (-1.0, 1, None)
    assert differences([], []) == ()


def _scored(name: str, *urls: str, body: str = "", facts: tuple[str, ...] = ()) -> Scored:
    found = hits(*((url, None, body) for url in urls))
    return score(known(("/a", None), facts=facts, name=name), found, prompt_tokens=1)


def test_a_question_is_decided_by_facts_then_page_then_rank() -> None:
    facts = ("yes",)
    before = [
        _scored("facts", "/a", body="no", facts=facts),
        _scored("page", "/a"),
        _scored("rank", "/x", "/a"),
        _scored("alike", "/x", "/a"),
    ]
    after = [
        _scored("facts", "/x", "/a", body="yes", facts=facts),
        _scored("page", "/x"),
        _scored("rank", "/a"),
        _scored("alike", "/x", "/a"),
    ]
    found = compare_searches(before, after)
    assert found.won == (Decided(id="facts", by="facts"), Decided(id="rank", by="rank"))
    assert found.lost == (Decided(id="page", by="page"),)
    assert found.alike == 1


def test_questions_without_gold_are_neither_won_nor_alike() -> None:
    question = score(known(), hits(), prompt_tokens=1)
    found = compare_searches([question], [question])
    assert (found.won, found.lost, found.alike) == ((), (), 0)
    assert all(each.mean is None for each in found.differences)


def test_bounds_are_read_by_the_names_users_give() -> None:
    assert parse_bounds(["facts=0.8", "pages@1 = 1", "mrr=0"]) == (
        Bound(name="facts", figure="facts_at_k", least=0.8),
        Bound(name="pages@1", figure="pages_at_1", least=1.0),
        Bound(name="mrr", figure="mrr", least=0.0),
    )
    assert [bound.figure for bound in parse_bounds([f"{name}=0" for name in NAMES])] == list(
        NAMES.values()
    )
    assert parse_bounds(["facts_at_k=0.5"])[0].figure == "facts_at_k"


@pytest.mark.parametrize(
    "text",
    ["fact=0.8", "facts", "facts=", "facts=x", "facts=1.1", "facts=-0.1", "facts=nan", "=0.5"],
)
def test_a_bound_that_cannot_be_meant_is_refused_with_the_known_names(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_bounds([text])
    assert all(name in raised.value.hint for name in NAMES)


def test_a_bound_is_broken_below_it_and_where_no_question_counts() -> None:
    facts, pages = parse_bounds(["facts=0.5", "pages=0.5"])
    figures: dict[str, dict[str, float | None]] = {
        "hybrid": {"facts_at_k": 0.5, "pages_at_k": 0.49},
        "vector": {"facts_at_k": None, "pages_at_k": 1.0},
    }
    broken = broken_bounds((facts, pages), figures)
    assert [(each.label, each.bound.name, each.value) for each in broken] == [
        ("hybrid", "pages", 0.49),
        ("vector", "facts", None),
    ]


def test_shares_are_the_means_of_what_each_question_adds() -> None:
    scored = [_scored("one", "/a"), _scored("two", "/x", "/a"), _scored("three", "/x")]
    for figure, share in shares(scored).items():
        added = [value for each in scored if (value := values(each)[figure]) is not None]
        assert share == (pytest.approx(sum(added) / len(added)) if added else None)
