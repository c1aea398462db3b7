"""What a reader does not get to see, where the setting ``checks.block`` says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ragctl.records.answers import Answer, Citation, Problem
from ragctl.stages.guards.secrets import masked

SECRET: Final = "secret"
"""The code that masks: what looks like a secret is covered, the rest of the answer is shown."""

WITHHOLDING: Final[Mapping[str, tuple[str, str]]] = {
    "foreign_host": (
        "foreign_host",
        "it leads to a host that is neither the site's nor in its passages",
    ),
    "instructions": (
        "instructions_in_passage",
        "a passage that it was written from holds instructions to the model",
    ),
    "no_citation": ("no_citation", "it cites no passage"),
    "unsupported": ("unsupported_claim", "a statement in it is not supported by what it cites"),
}
"""The codes that withhold a whole answer: the problem that each stands for, and why in words."""


def as_shown(answer: Answer, *, block: Sequence[str], nearest: Sequence[Citation]) -> Answer:
    """Return an answer as its reader may see it; without codes in ``block`` that is all of it.

    A withheld answer has a sentence that says so in the place of its text, ``nearest`` in the
    place of its sources, and itself in ``original``. An answer with secrets has them masked.
    """
    codes = {problem.code for problem in answer.problems}
    reasons = [why for name, (code, why) in WITHHOLDING.items() if name in block and code in codes]
    if reasons:
        text = f"This answer was withheld: {', and '.join(reasons)}."
        told = Problem(code="withheld", message="The answer was withheld (checks.block).")
        return replace(
            answer,
            text=text,
            withheld=True,
            original=answer,
            problems=(told, *answer.problems),
            citations=(),
            claims=(),
            beneath="",
            nearest=tuple(nearest),
        )
    if SECRET in block and "looks_like_secret" in codes:
        claims = tuple(
            replace(claim, text=masked(claim.text), why=masked(claim.why))
            for claim in answer.claims
        )
        return replace(
            answer, text=masked(answer.text), beneath=masked(answer.beneath), claims=claims
        )
    return answer
