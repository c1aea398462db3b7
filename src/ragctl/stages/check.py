"""Stage 8: what an answer cites, and what a reader must know about it.

Deterministic and without a model: citations become links with what the claims that cite them came
to, and shape is checked (no citation, a passage that is not there, nothing written, cut short,
passages left out of the prompt, claims that do not stand in what they cite).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragctl.records.answers import Citation, Claim, Draft, Problem, Prompt, Support, Verdict
from ragctl.stages.bibliography import without_bibliography
from ragctl.stages.citations import find_marks, read_marks
from ragctl.stages.claims import better_passage, is_unfounded
from ragctl.stages.links import link_to

if TYPE_CHECKING:
    from ragctl.records.links import LinkStyle
    from ragctl.records.search import Hit

NEAREST_PAGES: Final = 3
"""How many pages a refusal points to."""


def cite(text: str, passages: Sequence[Hit], *, links: LinkStyle) -> tuple[Citation, ...]:
    """Return the sources of an answer in order of first use, one a page and section.

    A source has the number of the passage that was cited first for it, so that the numbers in
    the text stay true; ``Citation.passages`` holds all of them.
    """
    by_number = {hit.n: hit for hit in passages}
    marks = read_marks(text, passages=max(by_number, default=0))
    grouped: dict[tuple[str, str | None, str | None], list[Hit]] = {}
    for number in marks.valid:
        hit = by_number.get(number)
        if hit is not None:
            # an anchor that is not on the site was dropped: the label tells sections apart
            section = None if hit.anchor else hit.section
            grouped.setdefault((hit.url, hit.anchor, section), []).append(hit)
    return tuple(
        Citation(
            n=hits[0].n,
            title=hits[0].title,
            url=hits[0].url,
            section=hits[0].section,
            anchor=hits[0].anchor,
            link=link_to(links, hits[0].url, hits[0].source_path, hits[0].anchor),
            source_path=hits[0].source_path,
            passages=tuple(hit.n for hit in hits),
        )
        for hits in grouped.values()
    )


def nearest_pages(passages: Sequence[Hit], *, links: LinkStyle) -> tuple[Citation, ...]:
    """Return the sections that come nearest to a refused question, the best of each page."""
    best: dict[str, Hit] = {}
    for hit in passages:
        best.setdefault(hit.url, hit)
    return tuple(
        Citation(
            n=n,
            title=hit.title,
            url=hit.url,
            section=hit.section,
            anchor=hit.anchor,
            link=link_to(links, hit.url, hit.source_path, hit.anchor),
            source_path=hit.source_path,
            passages=(hit.n,),
        )
        for n, hit in enumerate(list(best.values())[:NEAREST_PAGES], start=1)
    )


def with_support(citations: Sequence[Citation], claims: Sequence[Claim]) -> tuple[Citation, ...]:
    """Return the sources with what the claims that cite them came to.

    A source is supported where a claim that cites it is and none is unsupported or misattributed;
    else it has the worst verdict of its claims, and none where no claim cites it.
    """
    return tuple(replace(one, support=_support_of(one, claims)) for one in citations)


_WORST_FIRST: Final[tuple[Support, ...]] = ("unsupported", "misattributed", "supported", "weak")


def _support_of(citation: Citation, claims: Sequence[Claim]) -> Support:
    verdicts = {c.verdict for c in claims if not set(citation.passages).isdisjoint(c.cites)}
    return next((verdict for verdict in _WORST_FIRST if verdict in verdicts), "")


def find_problems(
    draft: Draft,
    prompt: Prompt,
    *,
    refused: bool,
    claims: Sequence[Claim] = (),
    quoted_beneath: bool = False,
    found: Sequence[Hit] = (),
) -> tuple[Problem, ...]:
    """Return what is wrong with an answer's shape and claims, most serious first.

    ``found`` are all passages of the search, those that were not sent among them.
    """
    problems = list(_ending_problems(draft))
    marks = read_marks(draft.text, passages=len(prompt.passages))
    if marks.out_of_range:
        told = _out_of_range(marks.out_of_range, {hit.n for hit in found})
        problems.append(Problem(code="citation_out_of_range", message=told))
    if not refused and _states_nothing(draft.text):
        problems.append(Problem(code="no_statement", message="It states nothing: it only cites."))
    if not marks.valid and not refused and draft.text.strip():
        problems.append(Problem(code="no_citation", message="It cites no passage."))
    problems += _claim_problems(claims)
    if quoted_beneath:
        problems.append(
            Problem(
                code="refused_despite_evidence",
                message="The model refused although the passages very probably hold the answer: "
                "they are quoted beneath.",
            )
        )
    if prompt.crowded_out:
        fate = (
            "passage did not fit the prompt and was"
            if prompt.crowded_out == 1
            else ("passages did not fit the prompt and were")
        )
        problems.append(
            Problem(
                code="passages_dropped",
                message=f"{prompt.crowded_out} {fate} left out.",
            )
        )
    return tuple(problems)


def _out_of_range(numbers: Sequence[int], found: Collection[int]) -> str:
    """Tell numbers of passages that were found but not sent from those that stand for nothing."""
    unsent = ", ".join(str(number) for number in numbers if number in found)
    absent = ", ".join(str(number) for number in numbers if number not in found)
    told = [f"It cites passages that are not there: {absent}."] if absent else []
    if unsent:
        noun, verb = ("passages", "were") if "," in unsent else ("passage", "was")
        told.append(f"It cites {noun} {unsent}, which {verb} found but not sent to the model.")
    return " ".join(told)


def _states_nothing(text: str) -> bool:
    """Whether an answer has citations, or a list of sources, and no words of its own."""
    bare = without_bibliography(text)
    for mark in reversed(list(find_marks(bare, passages=0))):
        bare = f"{bare[: mark.start]} {bare[mark.end :]}"
    words = {word.lower() for word in _WORD.findall(bare)}
    return bool(text.strip()) and bare != text and words <= _POINTING


_WORD: Final = re.compile(r"\w+")
_POINTING: Final = frozenset(
    ("see", "also", "and", "or", "cf", "in", "the", "passage", "passages", "source", "sources")
)


def _claim_problems(claims: Sequence[Claim]) -> list[Problem]:
    """Return one problem for each kind of claim that does not hold."""
    found = []
    if wrong := _with_verdict(claims, "unsupported"):
        noun = "statement is" if len(wrong) == 1 else "statements are"
        cited = ", ".join(f"[{n}]" for n in dict.fromkeys(n for c in wrong for n in c.cites))
        message = f"{len(wrong)} {noun} not supported by what is cited: {cited}."
        found.append(Problem(code="unsupported_claim", message=message))
    if wrong := _with_verdict(claims, "misattributed"):
        noun = "statement cites" if len(wrong) == 1 else "statements cite"
        pairs = ", ".join(
            f"[{better_passage(c)}] rather than {''.join(f'[{n}]' for n in c.cites)}" for c in wrong
        )
        message = f"{len(wrong)} {noun} the wrong passage; supported by {pairs}."
        found.append(Problem(code="misattributed_claim", message=message))
    if wrong := [claim for claim in claims if is_unfounded(claim)]:
        noun = "statement has" if len(wrong) == 1 else "statements have"
        message = f"{len(wrong)} {noun} no citation and no support in any passage."
        found.append(Problem(code="uncited_claim", message=message))
    return found


def _with_verdict(claims: Sequence[Claim], verdict: Verdict) -> list[Claim]:
    return [claim for claim in claims if claim.verdict == verdict]


def _ending_problems(draft: Draft) -> tuple[Problem, ...]:
    if draft.finish == "torn":
        return (Problem(code="incomplete", message=f"The answer is incomplete: {draft.error}"),)
    if draft.finish == "length":
        tokens = f" at {draft.output_tokens} tokens" if draft.output_tokens else ""
        return (
            Problem(code="truncated", message=f"The answer was cut{tokens}: it reached its limit."),
        )
    if draft.finish == "repetition":
        return (
            Problem(
                code="repetition",
                message="The answer began to repeat itself and was cut there.",
            ),
        )
    return ()
