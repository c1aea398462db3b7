"""Stage 8: what an answer cites, and what a reader must know about it.

Deterministic and without a model: citations become links, and shape is checked (no citation, a
passage that is not there, nothing written, cut short, passages left out of the prompt).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragctl.records import Citation, Draft, Hit, LinkStyle, Problem, Prompt
from ragctl.stages.citations import read_marks
from ragctl.stages.links import link_to

_REFUSAL = re.compile(
    r"(?:the|these|none of the|no)?\s*(?:provided |given |numbered )?passages?\s+"
    r"(?:do not|don't|does not|doesn't|cover|say nothing|contain no|provide no|mention no)"
    r"|there is no (?:mention|information)"
    r"|(?:i|we) (?:do not|don't|cannot|can't) (?:know|answer|find|determine)",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Tell whether an answer declines and gives nothing in its place.

    A hedge that is followed by a cited statement is an answer, not a refusal.
    """
    if not _REFUSAL.search(text):
        return False
    return not read_marks(text, passages=10_000).valid


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


def find_problems(
    draft: Draft, prompt: Prompt, *, retrieved: int, refused: bool
) -> tuple[Problem, ...]:
    """Return what is wrong with the shape of an answer, most serious first."""
    problems = list(_ending_problems(draft))
    marks = read_marks(draft.text, passages=len(prompt.passages))
    if marks.out_of_range:
        numbers = ", ".join(str(number) for number in marks.out_of_range)
        problems.append(
            Problem(
                code="citation_out_of_range",
                message=f"It cites passages that are not there: {numbers}.",
            )
        )
    if not marks.valid and not refused and draft.text.strip():
        problems.append(Problem(code="no_citation", message="It cites no passage."))
    dropped = retrieved - len(prompt.passages)
    if dropped:
        problems.append(
            Problem(
                code="passages_dropped",
                message=f"{dropped} of {retrieved} passages did not fit the model's window "
                "and were left out.",
            )
        )
    return tuple(problems)


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
