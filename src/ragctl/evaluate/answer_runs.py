"""Two who answer the same questions, and the row that is stored of one.

A question is decided by the first of these that differs: answered or refused as its label says,
all of its facts are in the answer, its page is cited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.evaluate.answers import ScoredAnswer, answer_figures, answer_means, answer_values
from ragctl.evaluate.bootstrap import differences
from ragctl.evaluate.comparison import Comparison, Decided

if TYPE_CHECKING:
    from ragctl.evaluate.bounds import Broken
    from ragctl.evaluate.questions import QuestionFile
    from ragctl.evaluate.runs import RunBase
    from ragctl.records.evaluations import Evaluation
    from ragctl.records.vectors import IndexIdentity

FACTS_AND_PAGE = (("facts", "facts"), ("page", "gold_page"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredAnswers:
    """All that came of asking a file of questions, by the route that wrote.

    ``comparisons`` are those of further routes with the first; ``asked`` is how many questions of
    the file; ``stored`` has the ids of the runs that were stored.
    """

    file: QuestionFile
    identity: IndexIdentity
    k: int
    mode: str
    template: str
    asked: int
    scored: Mapping[str, Sequence[ScoredAnswer]]
    comparisons: Mapping[str, Comparison]
    broken: tuple[Broken, ...]
    stored: Mapping[str, str]


def compare_answers(first: Sequence[ScoredAnswer], second: Sequence[ScoredAnswer]) -> Comparison:
    """Return how ``second`` does against ``first``, both over the same questions in order."""
    won: list[Decided] = []
    lost: list[Decided] = []
    for before, after in zip(first, second, strict=True):
        by, change = _decided(before, after)
        if change:
            side = won if change > 0 else lost
            side.append(Decided(id=before.question.id, by=by))
    return Comparison(
        won=tuple(won),
        lost=tuple(lost),
        alike=len(first) - len(won) - len(lost),
        differences=differences(
            [answer_values(each) for each in first], [answer_values(each) for each in second]
        ),
    )


def _decided(before: ScoredAnswer, after: ScoredAnswer) -> tuple[str, float]:
    if change := _is_right(after) - _is_right(before):
        return "answered" if before.question.answerable else "refused", change
    was, now = answer_values(before), answer_values(after)
    for by, figure in FACTS_AND_PAGE:
        if change := (now[figure] or 0.0) - (was[figure] or 0.0):
            return by, change
    return "", 0.0


def _is_right(each: ScoredAnswer) -> float:
    return float(each.is_answered if each.question.answerable else each.is_refused)


def answers_run(
    scored: Sequence[ScoredAnswer], base: RunBase, *, run_id: str, route: str
) -> Evaluation:
    """Return the run of one route."""
    overall = answer_figures(scored)[-1]
    return base.evaluation(
        run_id,
        kind="answers",
        label=route,
        questions=overall.questions,
        figures={
            **answer_means(scored),
            "words_median": overall.words_median,
            "ms_median": overall.ms_median,
            "ms_p90": overall.ms_p90,
            "extractive": overall.extractive,
            "incomplete": overall.incomplete,
            "failed": overall.failed,
        },
    )


def answer_outcomes(
    scored: Sequence[ScoredAnswer],
) -> list[dict[str, str | int | float | bool | None]]:
    """Return what is kept of each question: no text, but what its figures are made of."""
    return [
        {
            "id": each.question.id,
            "answered": each.is_answered,
            "refused": each.is_refused,
            "failed": each.answer is None,
            "missing": None if each.missing is None else len(each.missing),
            **{name: answer_values(each)[name] for name in ("gold_page", "supported", "problems")},
            "ms": round(each.ms, 1),
        }
        for each in scored
    ]
