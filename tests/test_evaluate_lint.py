"""What is found in question files that do not fit their site."""

from __future__ import annotations

import json

import pytest

from ragctl.evaluate.lint import Finding, lint
from ragctl.evaluate.questions import question_lines
from ragctl.evaluate.site import SitePage
from ragctl.records.chunks import Chunk


def passage(url: str, section: str | None, body: str, *, under: str = "") -> Chunk:
    """A passage; ``under`` is the heading above its own."""
    breadcrumb = " > ".join(part for part in (under, section or "") if part)
    return Chunk(
        url=url, track="t", position=0, ref=f"{url}#c0", section=section, anchor=None,
        breadcrumb=breadcrumb, start_char=0, end_char=1, body=body,
    )  # fmt: skip


def page(url: str, *passages: Chunk, text: str = "", is_landing: bool = False) -> SitePage:
    """A page of these passages; its text is theirs unless given."""
    return SitePage(
        url=url,
        track="t",
        title=f"Title of {url}",
        is_landing=is_landing,
        text=text or "\n\n".join(each.body for each in passages),
        passages=passages,
    )


SITE = {
    each.url: each
    for each in (
        page(
            "/t/buckets",
            passage("/t/buckets", "The bucket", "It refills\n lazily."),
            passage("/t/buckets", "Bursts", "At most 64 at once.", under="The bucket"),
            passage("/t/buckets", "Limits", "A leak of 3 a second.\n\n#### Deep inside\n\nx"),
        ),
        page("/t/queues", passage("/t/queues", None, "A queue holds work.")),
        page("/t/empty", text="nothing"),
    )
}


def line(**fields: object) -> str:
    """A sound line, with what is given changed."""
    sound: dict[str, object] = {
        "id": "q",
        "question": "How is the tank filled again?",
        "kind": "natural",
        "gold": [{"url": "/t/buckets", "section": "The bucket"}],
        "must_contain": ["refills lazily"],
    }
    return json.dumps(sound | fields)


def found_in(*lines: str) -> tuple[Finding, ...]:
    """What is found in a file of these lines."""
    return lint(list(question_lines("\n".join(lines))), SITE, urls=list(SITE))


def test_a_sound_line_has_neither_findings_nor_notes() -> None:
    assert found_in(line()) == ()
    sound = line(question="Who won?", gold=[], must_contain=[], answerable=False, id="u")
    assert found_in(line(), sound) == ()


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        ({"gold": [{"url": "/t/bucket"}]}, "unknown_page", "nearest is '/t/buckets'"),
        ({"gold": [{"url": "/t/empty"}], "must_contain": []}, "empty_page", "no passages"),
        (
            {"gold": [{"url": "/t/buckets", "section": "The buckets"}], "must_contain": []},
            "unknown_section",
            "nearest is 'The bucket'",
        ),
        (
            {"gold": [{"url": "/t/buckets", "section": "Deep inside"}], "must_contain": []},
            "section_without_passage",
            "found as 'Limits'",
        ),
        ({"must_contain": ["refills lazily", "eagerly"]}, "absent_fact", "'eagerly'"),
        ({"gold": [], "must_contain": []}, "no_gold", "answerable"),
        ({"answerable": False, "must_contain": []}, "gold_of_unanswerable", "not answerable"),
        ({"answerable": False, "gold": []}, "facts_of_unanswerable", "names facts"),
    ],
)
def test_what_makes_a_figure_wrong_is_a_finding(
    changed: dict[str, object], code: str, said: str
) -> None:
    (found,) = found_in(line(**changed))
    assert (found.code, found.is_note, found.line, found.id) == (code, False, 1, "q")
    assert said in found.message


def test_a_name_that_resembles_nothing_gets_no_nearest() -> None:
    (found,) = found_in(line(gold=[{"url": "zzzz"}], must_contain=[]))
    assert "nearest" not in found.message


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"must_contain": ["3 a second"]}, "fact_elsewhere"),
        ({"question": "Why is it that it Refills  LAZILY?"}, "fact_in_question"),
        ({"kind": None}, "no_kind"),
    ],
)
def test_what_only_colours_a_figure_is_a_note(changed: dict[str, object], code: str) -> None:
    (found,) = found_in(line(**changed))
    assert (found.code, found.is_note) == (code, True)


def test_a_fact_below_a_heading_of_the_gold_section_is_in_it() -> None:
    assert found_in(line(must_contain=["64 at once"])) == ()


def test_a_fact_may_stand_on_any_gold_page() -> None:
    gold = [{"url": "/t/queues"}, {"url": "/t/buckets"}]
    assert found_in(line(gold=gold, must_contain=["holds work", "3 a second"])) == ()


def test_every_malformed_line_is_listed_with_the_findings_of_the_others() -> None:
    found = found_in("{", line(id="a", gold=[], must_contain=[]), "[]", line(kind=""), line(id="a"))
    assert [(each.line, each.code) for each in found] == [
        (1, "malformed"),
        (2, "no_gold"),
        (3, "malformed"),
        (4, "malformed"),
        (5, "malformed"),
    ]
    assert "kind must be a text" in found[3].message
    assert "on line 2 too" in found[4].message


def test_the_same_question_in_other_dress_is_a_duplicate() -> None:
    (found,) = found_in(line(), line(id="r", question="how is the  TANK filled again"))
    assert (found.code, found.line, found.is_note) == ("duplicate", 2, False)
    assert "line 1" in found.message


def test_names_that_differ_in_signs_alone_are_other_questions() -> None:
    first, second = line(question="What is C++ for?"), line(id="r", question="What is C# for?")
    assert found_in(first, second) == ()


def test_nearly_the_same_question_is_a_finding_with_the_same_gold_and_a_note_with_other() -> None:
    words = "Which valve opens first when pressure rises in tank number"
    first = line(question=f"{words} seven?")
    same = line(id="r", question=f"{words} seven, please?")
    other = line(id="r", question=f"{words} seven, please?", gold=[{"url": "/t/buckets"}])
    unlike = line(id="r", question="Which valve closes last?")
    assert [(each.code, each.is_note) for each in found_in(first, same)] == [
        ("near_duplicate", False)
    ]
    assert [(each.code, each.is_note) for each in found_in(first, other)] == [
        ("near_duplicate", True)
    ]
    assert found_in(first, unlike) == ()


def test_near_duplicates_are_found_among_many_as_by_comparing_all_with_all() -> None:
    words = [f"w{number}" for number in range(12)]
    asked = [
        " ".join(word for place, word in enumerate(words) if (number >> place) & 1 == 0)
        for number in range(0, 4096, 7)
    ]
    lines = [line(id=f"q{number}", question=text or "none") for number, text in enumerate(asked)]
    found = {each.line for each in found_in(*lines) if each.code == "near_duplicate"}
    sets = [frozenset(text.split()) for text in asked]
    expected = {
        later + 1
        for later in range(len(sets))
        for earlier in range(later)
        if sets[earlier] | sets[later]
        and len(sets[earlier] & sets[later]) / len(sets[earlier] | sets[later]) >= 0.8
    }
    assert found == expected
    assert expected
