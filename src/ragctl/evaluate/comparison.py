"""Two searches over the same questions: which questions one wins, and whether it is more than luck.

A question is decided by the first of these that differs: all of its facts are found, its page is
found, the rank of its page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.evaluate.bootstrap import Difference, differences
from ragctl.evaluate.retrieval import Scored, values

if TYPE_CHECKING:
    from ragctl.evaluate.bounds import Broken
    from ragctl.evaluate.questions import QuestionFile
    from ragctl.records.vectors import IndexIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A question that one of two searches does better, and by what: facts, page or rank."""

    id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a search wins and loses against another; ``alike`` counts questions without a winner.

    Questions without gold are in neither count. Differences are above 0 where it is better.
    """

    won: tuple[Decided, ...]
    lost: tuple[Decided, ...]
    alike: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All that came of asking a file of questions in some modes, each with its name.

    ``comparisons`` are those of further modes with the first; ``stored`` has the ids of the runs
    that were stored.
    """

    file: QuestionFile
    identity: IndexIdentity
    k: int
    scored: Mapping[str, Sequence[Scored]]
    comparisons: Mapping[str, Comparison]
    broken: tuple[Broken, ...]
    stored: Mapping[str, str]


def compare_searches(first: Sequence[Scored], second: Sequence[Scored]) -> Comparison:
    """Return how ``second`` does against ``first``, both over the same questions in order."""
    won: list[Decided] = []
    lost: list[Decided] = []
    alike = 0
    for before, after in zip(first, second, strict=True):
        if before.page_rank is None and before.missing is None:
            continue
        by, change = _decided(before, after)
        if change:
            side = won if change > 0 else lost
            side.append(Decided(id=before.question.id, by=by))
        else:
            alike += 1
    return Comparison(
        won=tuple(won),
        lost=tuple(lost),
        alike=alike,
        differences=differences(
            [values(each) for each in first], [values(each) for each in second]
        ),
    )


def _decided(before: Scored, after: Scored) -> tuple[str, float]:
    was, now = values(before), values(after)
    for by, figure in (("facts", "facts_at_k"), ("page", "pages_at_k"), ("rank", "mrr")):
        change = (now[figure] or 0.0) - (was[figure] or 0.0)
        if change:
            return by, change
    return "", 0.0
