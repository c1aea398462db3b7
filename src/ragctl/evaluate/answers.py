"""Figures of answers without a model to judge them: refused rightly, facts, citations, claims.

Each figure is a mean over the questions that it can be asked of:

- ``answered``: of those that the site answers, the share that got an answer.
- ``refusal_recall``: of those that it does not answer, the share that was refused.
- ``refusal_precision``: of those that were refused, the share that the site does not answer.
- ``facts``, ``any_fact``: of those that name facts, the share whose answer holds all, one of them.
- ``cited``: of the answers from passages, the share that cites one and none that is not there.
- ``gold_page``, ``gold_section``: of those that name one, the share whose answer cites it.
- ``supported``: the mean over answers with claims of the share of their claims that stand.
- ``problems``: how many an answer has.

A refusal of what the site answers misses its facts and its page; so does a question that failed,
and an answer that was withheld from its reader.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from ragctl.errors import ModelError
from ragctl.evaluate.retrieval import by_kind, folded
from ragctl.pipeline.answer import CATALOGUE_ROUTE
from ragctl.stages.citations import find_marks, read_marks

if TYPE_CHECKING:
    from ragctl.evaluate.questions import KnownQuestion
    from ragctl.records.answers import Answer

SHARES: Final = (
    *("answered", "refusal_recall", "refusal_precision", "facts", "any_fact"),
    *("cited", "gold_page", "gold_section", "supported"),
)
"""The figures that go from 0 to 1."""

MEANS: Final = (*SHARES, "problems")

FAILURES_IN_A_ROW: Final = 3
"""So many failures one after the other are no accident: the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """What came of one question; ``answer`` is ``None`` where it failed, ``error`` then says how.

    ``missing`` are the facts that the answer does not hold, ``None`` where the question names
    none; ``ms`` is the time from question to answer.
    """

    question: KnownQuestion
    answer: Answer | None
    missing: tuple[str, ...] | None
    ms: float
    error: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the answer declines."""
        return self.answer is not None and self.answer.refused

    @property
    def is_answered(self) -> bool:
        """Whether the reader got an answer: one that neither declines nor was withheld."""
        return self.answer is not None and _is_given(self.answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """The figures of some questions.

    ``means`` are those that ``MEANS`` names, ``None`` where no question counts; ``claims`` counts
    the claims of all answers by verdict; ``words_median`` is of answers that do not decline.
    """

    kind: str
    questions: int
    answerable: int
    means: Mapping[str, float | None]
    claims: Mapping[str, int]
    words_median: int
    ms_median: int
    ms_p90: int
    refused: int
    extractive: int
    incomplete: int
    from_list: int
    failed: int


def evaluate_answers(
    questions: Sequence[KnownQuestion],
    *,
    ask: Callable[[str], Answer],
    report: Callable[[int], None],
    clock: Callable[[], float],
) -> Iterator[ScoredAnswer]:
    """Yield each question with its answer; ``report`` is told how many are done.

    A question whose model fails counts as not answered; the :class:`~ragctl.errors.ModelError` of
    the first question is raised, and that of the third failure in a row.
    """
    in_a_row = 0
    for number, known in enumerate(questions, start=1):
        began = clock()
        answer, error = None, ""
        try:
            answer = ask(known.question)
            in_a_row = 0
        except ModelError as failure:
            in_a_row += 1
            if number == 1 or in_a_row == FAILURES_IN_A_ROW:
                raise
            error = failure.message
        yield score_answer(known, answer, ms=(clock() - began) * 1000, error=error)
        report(number)


def score_answer(
    known: KnownQuestion, answer: Answer | None, *, ms: float, error: str = ""
) -> ScoredAnswer:
    """Return how well an answer fits a question."""
    text = folded(_without_marks(answer.text)) if answer is not None and _is_given(answer) else ""
    missing = tuple(fact for fact in known.must_contain if folded(fact) not in text)
    return ScoredAnswer(
        question=known,
        answer=answer,
        missing=missing if known.must_contain else None,
        ms=ms,
        error=error,
    )


def _is_given(answer: Answer) -> bool:
    return not answer.refused and not answer.withheld


def _without_marks(text: str) -> str:
    """Return a text without its citations, which may stand in the middle of a fact."""
    for mark in reversed(list(find_marks(text, passages=1000))):
        text = text[: mark.start].rstrip() + text[mark.end :]
    return text


def answer_values(each: ScoredAnswer) -> dict[str, float | None]:
    """Return what a question adds to each of ``MEANS``, ``None`` where it does not count."""
    known, answer, missing = each.question, each.answer, each.missing
    return {
        "answered": float(each.is_answered) if known.answerable else None,
        "refusal_recall": None if known.answerable else float(each.is_refused),
        "refusal_precision": float(not known.answerable) if each.is_refused else None,
        "facts": None if missing is None else float(not missing),
        "any_fact": None if missing is None else float(len(missing) < len(known.must_contain)),
        "cited": _is_cited(answer) if answer and each.is_answered else None,
        "gold_page": _cites_page(each),
        "gold_section": _cites_section(each),
        "supported": _supported(answer) if answer else None,
        "problems": float(len(answer.problems)) if answer else None,
    }


def _is_cited(answer: Answer) -> float | None:
    if not answer.passages:  # from the list of pages
        return None
    marks = read_marks(answer.text, passages=len(answer.prompt.passages))
    return float(bool(marks.valid) and not marks.out_of_range)


def _cites_page(each: ScoredAnswer) -> float | None:
    pages = {gold.url for gold in each.question.gold}
    cited = {citation.url for citation in each.answer.citations} if each.answer else set()
    return float(not pages.isdisjoint(cited)) if pages else None


def _cites_section(each: ScoredAnswer) -> float | None:
    gold = {(place.url, folded(place.section)) for place in each.question.gold if place.section}
    citations = each.answer.citations if each.answer else ()
    cited = {(citation.url, folded(citation.section or "")) for citation in citations}
    return float(not gold.isdisjoint(cited)) if gold else None


def _supported(answer: Answer) -> float | None:
    if not answer.claims:
        return None
    return sum(claim.verdict == "supported" for claim in answer.claims) / len(answer.claims)


def answer_figures(scored: Sequence[ScoredAnswer]) -> tuple[AnswerFigures, ...]:
    """Return the figures of each kind of question by name, and last those of all."""
    return tuple(_figures(kind, group) for kind, group in by_kind(scored))


def answer_means(scored: Sequence[ScoredAnswer]) -> dict[str, float | None]:
    """Return the figures of all questions that ``MEANS`` names."""
    return dict(answer_figures(scored)[-1].means)


def _figures(kind: str, scored: Sequence[ScoredAnswer]) -> AnswerFigures:
    rows = [answer_values(each) for each in scored]
    answers = [each.answer for each in scored if each.answer is not None]
    given = [answer for answer in answers if _is_given(answer)]
    words = [len(answer.text.split()) for answer in given]
    times = sorted(each.ms for each in scored if each.answer is not None)
    verdicts = Counter(claim.verdict for answer in answers for claim in answer.claims)
    return AnswerFigures(
        kind=kind,
        questions=len(scored),
        answerable=sum(each.question.answerable for each in scored),
        means={name: _mean([row[name] for row in rows]) for name in MEANS},
        claims=dict(verdicts.most_common()),
        words_median=int(median(words)) if words else 0,
        ms_median=round(median(times)) if times else 0,
        ms_p90=round(times[math.ceil(0.9 * len(times)) - 1]) if times else 0,
        refused=sum(answer.refused for answer in answers),
        extractive=sum(answer.degraded for answer in given),
        incomplete=sum(answer.finish in ("torn", "repetition", "length") for answer in answers),
        from_list=sum(answer.route == CATALOGUE_ROUTE for answer in answers),
        failed=len(scored) - len(answers),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    counted = [value for value in values if value is not None]
    return sum(counted) / len(counted) if counted else None
