"""Prompts, links, sources and the problems of an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragctl.prompts import shipped
from ragctl.records.answers import Draft, Finish, Prompt
from ragctl.records.links import LinkStyle
from ragctl.records.search import Hit
from ragctl.stages.check import cite, find_problems
from ragctl.stages.render import render
from ragctl.stages.tokens import estimated_tokens


def _hit(n: int, *, url: str = "/a/page", section: str | None = "Part", body: str = "Text.") -> Hit:
    return Hit(
        n=n,
        chunk_id=n,
        ref=f"{url}#c{n}",
        url=url,
        title="Title",
        track="a",
        section=section,
        anchor=section.lower() if section else None,
        body=body,
        start_char=0,
        end_char=1,
        source_path="a/page.md",
        score=0.5,
        vector_score=0.5,
    )


def _draft(text: str, *, finish: Finish = "stop") -> Draft:
    return Draft(text=text, route="test", finish=finish, error="it broke")


def _prompt(*hits: Hit) -> Prompt:
    return Prompt(text="", question="", template="", passages=hits)


def test_the_prompt_has_fixed_words_first_and_the_question_last() -> None:
    hits = [_hit(1, body="First body."), _hit(2, url="/b", section=None, body="Second body.")]
    one = render("Why one?", hits, template=shipped("balanced"), budget_tokens=4000).text
    two = render("Why two?", hits[:1], template=shipped("balanced"), budget_tokens=4000).text
    shared = one[: one.index("[1]")] if "[1]" in one else ""
    assert len(shared) > 300
    assert two.startswith(one.partition("Passages:")[0])
    assert one.rstrip().endswith("Question: Why one?\nAnswer:")
    assert "(page: Title, section: Part)" in one and "/a/page" not in one
    assert one.index("First body.") < one.index("Second body.")


def test_strict_and_balanced_differ_in_how_they_refuse() -> None:
    strict = render("Why?", [_hit(1)], template=shipped("strict"), budget_tokens=4000)
    balanced = render("Why?", [_hit(1)], template=shipped("balanced"), budget_tokens=4000)
    assert "The passages do not say." in strict.text
    assert "The passages do not say." not in balanced.text
    assert strict.template != balanced.template


def test_whole_passages_are_dropped_from_the_end_when_the_window_is_small() -> None:
    hits = [_hit(number, body="word " * 400) for number in range(1, 6)]
    prompt = render("Why?", hits, template=shipped("balanced"), budget_tokens=1100)
    assert [hit.n for hit in prompt.passages] == [1, 2]
    assert estimated_tokens(prompt.text) <= 1100
    problems = find_problems(_draft("So [1]."), prompt, refused=False)
    assert [problem.code for problem in problems] == ["passages_dropped"]
    assert problems[0].message == "3 passages did not fit the prompt and were left out."
    one_out = replace(prompt, crowded_out=1)
    problems = find_problems(_draft("So [1]."), one_out, refused=False)
    assert problems[0].message == "1 passage did not fit the prompt and was left out."


def test_a_number_that_was_not_sent_is_told_from_one_that_is_not_there() -> None:
    hits = [_hit(number) for number in range(1, 4)]
    prompt = replace(render("Why?", hits[:1], template=shipped("strict"), budget_tokens=4000))
    problems = find_problems(_draft("So [1][2][9]."), prompt, refused=False, found=hits)
    assert [problem.message for problem in problems] == [
        "It cites passages that are not there: 9. "
        "It cites passage 2, which was found but not sent to the model."
    ]


def test_sources_are_listed_once_a_page_and_section_under_the_numbers_of_the_text() -> None:
    hits = (_hit(1), _hit(2, url="/b"), _hit(3), _hit(4))
    citations = cite("First [3], then [2], then [1].", hits, links=LinkStyle())
    assert [(c.n, c.passages, c.url) for c in citations] == [
        (3, (3, 1), "/a/page"),
        (2, (2,), "/b"),
    ]


def test_sections_whose_anchor_was_dropped_stay_two_sources_with_the_link_of_the_page() -> None:
    hits = [replace(_hit(n, section=f"Part {n}"), anchor=None) for n in (1, 2)]
    citations = cite("Both [1, 2].", hits, links=LinkStyle(url_style="slash"))
    assert [(c.section, c.link) for c in citations] == [
        ("Part 1", "/a/page/"),
        ("Part 2", "/a/page/"),
    ]


@pytest.mark.parametrize(
    ("text", "finish", "codes"),
    [
        ("Fine [1].", "stop", []),
        ("No source.", "stop", ["no_citation"]),
        ("Wrong [7].", "stop", ["citation_out_of_range", "no_citation"]),
        ("Cut [1] and", "length", ["truncated"]),
        ("Torn [1] and", "torn", ["incomplete"]),
        ("Again [1].", "repetition", ["repetition"]),
    ],
)
def test_what_is_wrong_with_an_answer_is_said(text: str, finish: Finish, codes: list[str]) -> None:
    problems = find_problems(_draft(text, finish=finish), _prompt(_hit(1)), refused=False)
    assert [problem.code for problem in problems] == codes


def test_a_refusal_needs_no_citation() -> None:
    draft = _draft("The passages do not say.")
    assert find_problems(draft, _prompt(_hit(1)), refused=True) == ()
