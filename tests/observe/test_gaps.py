"""Questions without a good answer, in groups; and what answers cost."""

from __future__ import annotations

import random

import pytest

from ragctl.observe.cost import Price, costs_by_model, costs_by_route, together, what_if
from ragctl.observe.gaps import find_gaps, stems_of
from ragctl.records.signals import RouteUsage, UncoveredQuestion

WEIGHTS = {
    **dict.fromkeys(("sourdough", "bread", "yeast", "starter", "terraform", "modul"), 8.0),
    **dict.fromkeys(("stat", "lock", "fil", "ferment"), 4.0),
    "page": 2.0,
    "the": 0.0,
}


def _asked(text: str, *, number: int = 0, reason: str = "refused", pages: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    words = [word.strip("?").lower() for word in text.split()]
    pairs = tuple((word.removesuffix("s").removesuffix("e"), word) for word in words)
    return UncoveredQuestion(
        id=f"t{number}", question=text, reason=reason, pages=pages, words=pairs
    )


BREAD = (
    "How long must sourdough bread ferment?",
    "Which yeast is in a sourdough starter?",
    "Does sourdough bread need yeast?",
)
TERRAFORM = ("Where is the terraform state file?", "How do I lock terraform state?")


def test_questions_about_one_thing_are_one_group_however_they_are_ordered() -> None:
    questions = [_asked(text, number=n) for n, text in enumerate((*BREAD, *TERRAFORM))]
    gaps = find_gaps(questions, WEIGHTS)
    assert [(gap.asked, gap.wordings) for gap in gaps] == [(3, 3), (2, 2)]
    assert gaps[0].words[0] == "sourdough"
    assert set(gaps[1].words[:2]) == {"terraform", "state"}
    for seed in range(5):
        shuffled = random.Random(seed).sample(questions, len(questions))
        again = find_gaps(shuffled, WEIGHTS)
        assert [(gap.words, gap.asked, gap.examples) for gap in again] == [
            (gap.words, gap.asked, gap.examples) for gap in gaps
        ]


def test_the_same_wording_asked_often_counts_often_and_is_the_first_example() -> None:
    questions = [
        *(_asked("terraform modules", number=n) for n in range(3)),
        _asked("  Terraform MODULES? ", number=9, reason="not covered"),
        _asked("a terraform module"),
    ]
    (gap,) = find_gaps(questions, WEIGHTS)
    assert (gap.asked, gap.wordings) == (5, 2)
    assert gap.examples[0].strip().lower().startswith("terraform modules")
    assert gap.reasons == (("refused", 4), ("not covered", 1))


def test_the_nearest_pages_are_those_that_rank_first_most_often() -> None:
    questions = [
        _asked(BREAD[0], pages=("/a", "/b")),
        _asked(BREAD[1], pages=("/a", "/c")),
        _asked(BREAD[2], pages=("/b", "/c", "/d", "/e")),
    ]
    (gap,) = find_gaps(questions, WEIGHTS)
    assert gap.pages == ("/a", "/b", "/c")


def test_questions_without_a_telling_word_stand_for_themselves() -> None:
    gaps = find_gaps([_asked("the?"), _asked("漢字?"), _asked("漢字?")], WEIGHTS)
    assert [(gap.label, gap.asked) for gap in gaps] == [("漢字?", 2), ("the?", 1)]
    assert find_gaps([], WEIGHTS) == ()
    assert "sourdough" in stems_of([_asked(BREAD[0])])


def test_two_thousand_questions_are_grouped_by_their_subjects() -> None:
    rng = random.Random(4)
    subjects = [[f"s{subject}w{n}" for n in range(6)] for subject in range(40)]
    questions = [
        _asked(" ".join(rng.sample(rng.choice(subjects), 3)), number=n) for n in range(2000)
    ]
    gaps = find_gaps(questions, {f"s{s}w{n}": 5.0 for s in range(40) for n in range(6)})
    assert len(gaps) == 40
    assert sum(gap.asked for gap in gaps) == 2000


USAGE = [
    RouteUsage(route="fast", answers=12, counted=10, prompt_tokens=9140, output_tokens=470),
    RouteUsage(route="slow", answers=2, counted=2, prompt_tokens=2000, output_tokens=100),
    RouteUsage(route="catalogue", answers=5, counted=0, prompt_tokens=0, output_tokens=0),
]
PRICES = {
    "fast": Price(
        route="fast", model="m", input_per_million=2.0, output_per_million=10.0,
        read_on="2026-01-31",
    ),
    "slow": Price(route="slow", model="m"),
}  # fmt: skip


def test_a_cost_is_the_price_of_the_counted_tokens() -> None:
    fast, slow = costs_by_route(USAGE, PRICES)
    assert fast.dollars == pytest.approx((9140 * 2 + 470 * 10) / 1e6)
    assert fast.per_100000 == pytest.approx(229.8)
    assert fast.read_on == "2026-01-31"
    assert (slow.dollars, slow.per_answer, slow.per_100000) == (None, None, None)


def test_without_every_price_there_is_no_figure_for_all() -> None:
    (model,) = costs_by_model(USAGE, PRICES)
    assert (model.key, model.counted, model.dollars) == ("m", 12, None)
    whole = together("all", costs_by_route(USAGE, PRICES))
    assert (whole.dollars, whole.read_on) == (None, "")
    assert [one.key for one in costs_by_model(USAGE, {})] == ["fast", "slow"]


def test_another_price_is_put_on_the_same_tokens() -> None:
    tried = what_if(USAGE, Price(route="x", model="", input_per_million=1, output_per_million=5))
    assert tried.dollars == pytest.approx((11140 + 570 * 5) / 1e6)
    assert tried.per_answer == pytest.approx((11140 + 570 * 5) / 12e6)
