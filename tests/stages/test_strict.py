"""Answers without what does not hold: the text stays markdown, and says nothing that was cut."""

from __future__ import annotations

import pytest

from ragctl.records.answers import Answer, Claim, Prompt, Timings
from ragctl.records.links import LinkStyle
from ragctl.records.search import Hit
from ragctl.stages.claims import check_claims, statements_of
from ragctl.stages.strict import NOTHING_HOLDS, as_shown, is_doubtful, strictly, without_doubtful


def _claims(text: str) -> list[Claim]:
    """Return the claims of a text; those with the word wrong are unsupported."""
    return [
        Claim(
            text=one.text,
            cites=one.cites,
            verdict="unsupported" if "wrong" in one.text else "supported",
            why="",
        )
        for one in statements_of(text, passages=5)
    ]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("First is right here [1]. Second is wrong here [2].", "First is right here [1]."),
        ("The gate is wrong here. [^1]: gate", "gate"),
        (
            "One is right here [1]. This one is\nwrong over two lines [2]. Last is right here [1].",
            "One is right here [1].\nLast is right here [1].",
        ),
        (
            "- first item is right\n- second item is wrong\n- third item is right",
            "- first item is right\n- third item is right",
        ),
        (
            "There are three of them:\n\n1. first item is wrong\n2. second item is wrong\n\n"
            "The end is right here.",
            "The end is right here.",
        ),
        (
            "Some of this is right. It has two parts:\n- one part is wrong\n- two part is wrong",
            "Some of this is right.",
        ),
        (
            "# Title\n\n## Gone\n\nThis statement is wrong.\n\n## Kept\n\nThis statement is right.",
            "# Title\n\n## Kept\n\nThis statement is right.",
        ),
        (
            "It is wrong to say so.\n\n```c\nIt is wrong to say so.\n\n\nreturn;\n```\n"
            "The rest is right here.",
            "```c\nIt is wrong to say so.\n\n\nreturn;\n```\nThe rest is right here.",
        ),
        (
            "> A quote is wrong\n> over two lines. Another is right.\n\nPlain is right here.",
            "> Another is right.\n\nPlain is right here.",
        ),
        ("**The first is wrong. The second is right** [1].", "The second is right [1]."),
        (
            "- parent item is wrong\n  - child item is right\n\n\nThe end is right here.",
            "  - child item is right\n\n\nThe end is right here.",
        ),
    ],
)
def test_what_is_left_is_still_markdown(text: str, left: str) -> None:
    assert without_doubtful(text, _claims(text)) == left


def test_a_text_without_doubtful_claims_stays_to_the_byte() -> None:
    text = "  Odd   blanks stay [1].\n\n\n\nAnd   these stay too.\n"
    assert without_doubtful(text, _claims(text)).strip("\n") == text.strip("\n")


def test_where_the_claims_cannot_be_found_only_those_that_hold_are_shown() -> None:
    claims = _claims("Right is this one [1]. Here is a wrong one [1].")
    assert without_doubtful("Quite another text.", claims) == "Right is this one [1]."


def _hit(n: int, body: str) -> Hit:
    return Hit(
        n=n,
        chunk_id=n,
        ref=f"/a/{n}#c0",
        url=f"/a/{n}",
        title=f"Title {n}",
        track="a",
        section=None,
        anchor=None,
        body=body,
        start_char=0,
        end_char=len(body),
        source_path=f"a/{n}.md",
        score=0.5,
        vector_score=0.5,
    )


HITS = (
    _hit(1, "A token bucket holds at most 1,000 tokens and is refilled lazily."),
    _hit(2, "Consumers of a Kafka group share the partitions of a topic."),
)


def _answer(text: str) -> Answer:
    return Answer(
        question="How?",
        text=text,
        refused=False,
        degraded=False,
        finish="stop",
        citations=(),
        passages=HITS,
        problems=(),
        route="test",
        attempts=(),
        prompt=Prompt(text="", question="How?", template="t", passages=HITS),
        prompt_tokens=None,
        output_tokens=None,
        timings=Timings(),
        claims=check_claims(text, HITS),
    )


def test_misattributed_unsupported_and_unfounded_claims_are_left_out_with_their_sources() -> None:
    answer = _answer(
        "A token bucket holds at most 1,000 tokens [1]. A token bucket holds 9,000 tokens [1]. "
        "Consumers of a Kafka group share the partitions [1]. "
        "Paris has the tallest iron tower of Europe."
    )
    assert [is_doubtful(claim) for claim in answer.claims] == [False, True, True, True]
    strict = strictly(answer, links=LinkStyle())
    assert strict.text == answer.text
    assert strict.strict == "A token bucket holds at most 1,000 tokens [1]."
    assert [claim.verdict for claim in strict.left_out] == [
        "unsupported",
        "misattributed",
        "uncited",
    ]
    assert [problem.code for problem in strict.problems] == ["left_out"]
    shown = as_shown(strict, links=LinkStyle())
    assert shown.text == strict.strict
    assert [(c.n, c.support) for c in shown.citations] == [(1, "supported")]
    assert not any(is_doubtful(claim) for claim in shown.claims)


def test_an_answer_of_which_nothing_is_left_is_a_refusal_with_the_nearest_pages() -> None:
    strict = strictly(_answer("A token bucket holds 9,000 tokens [1]."), links=LinkStyle())
    assert strict.refused
    assert strict.strict == ""
    assert [page.url for page in strict.nearest] == ["/a/1", "/a/2"]
    shown = as_shown(strict, links=LinkStyle())
    assert shown.text == NOTHING_HOLDS
    assert shown.citations == ()


def test_an_answer_that_holds_is_shown_as_it_is() -> None:
    answer = _answer("A token bucket holds at most 1,000 tokens [1].")
    strict = strictly(answer, links=LinkStyle())
    assert strict.strict == answer.text
    assert strict.problems == ()
    assert as_shown(strict, links=LinkStyle()) == strict
