"""Questions drafted from headings and names."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from ragctl.evaluate.drafts import draft_questions, question_document
from ragctl.evaluate.lint import lint
from ragctl.evaluate.questions import parse_questions, question_lines
from ragctl.evaluate.site import SitePage
from tests.test_evaluate_lint import page, passage


def site(*, tracks: int = 3, pages: int = 4) -> list[SitePage]:
    """Pages with a heading and a name of their own, and much that is not to be asked about."""
    made = []
    for track in range(tracks):
        for number in range(pages):
            url = f"/t{track}/p{number}"
            own = f"Valve {'abcdefgh'[track]}{'klmnopqr'[number]} opening"
            name = f"valve_{track}_open_{number}"
            made.append(
                replace(
                    page(
                        url,
                        passage(url, "Introduction", "Words `in_common` here."),
                        passage(url, "Parts in common", "More words."),
                        passage(url, own, f"The call `{name}` opens it; see `https://x.y/a_b`."),
                        passage(url, None, f"```\nlocal_{track}_{number} = `not_{number}_a`\n```"),
                    ),
                    track=f"t{track}",
                )
            )
    return made


def test_a_question_of_each_kind_names_its_place() -> None:
    drafted = draft_questions(site(), count=100, seed=0)
    assert {each.kind for each in drafted} == {"heading", "identifier"}
    for each in drafted:
        (gold,) = each.gold
        assert gold.section is not None
        assert gold.section.startswith("Valve ")
        if each.kind == "identifier":
            (fact,) = each.must_contain
            assert fact in each.question
        else:
            assert gold.section in each.question
            assert each.must_contain == ()


def test_the_same_seed_drafts_the_same_and_another_does_not() -> None:
    first = draft_questions(site(), count=12, seed=3)
    assert first == draft_questions(site(), count=12, seed=3)
    assert first != draft_questions(site(), count=12, seed=4)


def test_tracks_and_pages_take_turns() -> None:
    drafted = draft_questions(site(tracks=3, pages=4), count=12, seed=1)
    assert Counter(each.track for each in drafted) == {"t0": 4, "t1": 4, "t2": 4}
    assert len({each.gold[0].url for each in drafted}) == 12


def test_only_the_tracks_asked_for_are_asked_about() -> None:
    drafted = draft_questions(site(), count=100, seed=0, tracks=("t1",))
    assert {each.track for each in drafted} == {"t1"}


def test_neither_generic_nor_repeated_headings_nor_names_of_listings_are_asked_about() -> None:
    asked = " ".join(each.question for each in draft_questions(site(), count=1000, seed=0))
    for word in ("Introduction", "in common", "in_common", "local_", "not_", "https"):
        assert word not in asked


def test_nothing_is_asked_of_landing_pages_nor_of_a_heading_that_is_the_title() -> None:
    landing = page("/t", passage("/t", "Whence it came", "`some_name_here` is"), is_landing=True)
    same = page("/t/a", passage("/t/a", "Title of /t/a", "Text."))
    assert draft_questions([landing, same], count=10, seed=0) == []


def test_a_name_in_two_passages_has_both_as_gold_and_one_in_three_is_left_out() -> None:
    two = page(
        "/t/a",
        passage("/t/a", "One", "The `two_places` here, `three_places` too."),
        passage("/t/a", "Two", "And two_places, three_places."),
        passage("/t/a", "Introduction", "And three_places."),
    )
    names = [each for each in draft_questions([two], count=10, seed=0) if each.kind == "identifier"]
    assert [each.must_contain for each in names] == [("two_places",)]
    assert [gold.section for gold in names[0].gold] == ["One", "Two"]


@pytest.mark.parametrize(
    ("heading", "asked"),
    [
        ("2. Fixed Window", "Fixed Window"),
        ("3.1 Leaky Bucket:", "Leaky Bucket"),
        ("0-1 Knapsack", "0-1 Knapsack"),
        ("Why is it so?", "Why is it so?"),
    ],
)
def test_a_heading_is_asked_about_without_number_and_colon_and_named_as_it_is(
    heading: str, asked: str
) -> None:
    only = page("/t/a", passage("/t/a", heading, "Text."))
    (drafted,) = draft_questions([only], count=5, seed=0)
    assert asked in drafted.question
    assert drafted.gold[0].section == heading


def test_drafts_are_lines_of_a_question_file_that_fit_their_site() -> None:
    pages = site()
    drafted = draft_questions(pages, count=100, seed=0)
    documents = [question_document(each) for each in drafted]
    text = "\n".join(json.dumps(document) for document in documents)
    assert parse_questions(text, name="d") == tuple(drafted)
    assert all(document["draft"] is True for document in documents)
    found = lint(
        list(question_lines(text)),
        {each.url: each for each in pages},
        urls=[each.url for each in pages],
    )
    assert not [each for each in found if not each.is_note]
    assert len({each.question for each in drafted}) == len(drafted)
