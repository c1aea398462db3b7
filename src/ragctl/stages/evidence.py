"""How likely the passages found can answer a question: before a word of the answer is written.

The fused score ranks; it cannot tell, for the best keyword hit of any question scores one. What
tells is raw: the largest cosine among the passages, and the best that one passage does in cosine
and words at once: its cosine times the share of the question's idf that it holds. A logistic
regression makes a probability of the two, fitted per embedding model (``ragctl eval calibrate``),
since cosines of two models have nothing in common.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragctl.records.evidence import Calibration, CoveredTerm, Evidence, EvidenceVerdict

if TYPE_CHECKING:
    from ragctl.records.search import Hit

RARE_NAME: Final = 20
"""A name in more passages than this says nothing about whether a question is covered."""

LEAST_QUESTIONS: Final = 10
"""Fewer questions of a kind than this cannot be fitted."""

_STEPS: Final = 50
_RIDGE: Final = 1.0


BUILT_IN: Final[Mapping[str, Calibration]] = {
    calibration.embedding_model: calibration
    for calibration in (
        Calibration(
            embedding_model="local/all-MiniLM-L6-v2-int8",
            bias=-3.0012,
            cosine=3.9750,
            match=4.7145,
            questions=320,
        ),
    )
}
"""The calibrations that ship, by embedding model.

Fitted to 160 questions that a site of 97 pages answers and 160 that it does not. Fitted to one half
and told of the other, ``not covered`` had recall 0.81 and precision 0.86 (0.66 and 0.87 where a
rare name of the question that stands in the site forbids it).
"""


def evidence_of(
    hits: Sequence[Hit], terms: Sequence[CoveredTerm], *, names: Collection[str]
) -> Evidence:
    """Return what the passages found hold of a question, not yet judged.

    ``names`` are the terms that the question writes as names, not runs of its plain words.
    """
    total = sum(term.idf for term in terms)
    held = sum(term.idf for term in terms if term.held_by)
    matches = [
        (hit.vector_score or 0.0)
        * sum(term.idf for term in terms if hit.chunk_id in term.held_by)
        / (total or 1.0)
        for hit in hits
    ]
    cosines = [hit.vector_score for hit in hits if hit.vector_score is not None]
    named = [
        term for term in terms if term.term in names and term.is_name and term.passages <= RARE_NAME
    ]
    rarest = min(named, key=lambda term: (term.passages, term.term), default=None)
    return Evidence(
        top_cosine=max(cosines, default=None),
        idf_share=held / total if total else 0.0,
        best_match=max(matches, default=0.0),
        rare_name=rarest.term if rarest else "",
        named_in=next((hit.n for hit in hits if rarest and hit.chunk_id in rarest.held_by), 0),
    )


def judged(evidence: Evidence, calibration: Calibration | None) -> Evidence:
    """Return evidence with its probability and verdict; as it was without a calibration.

    A rare name of the question that stands in the site lifts ``not covered`` to ``weak``.
    """
    if calibration is None or evidence.top_cosine is None:
        return evidence
    probability = probability_of(evidence, calibration)
    verdict: EvidenceVerdict = "strong"
    if probability < calibration.not_covered:
        verdict = "weak" if evidence.rare_name else "not covered"
    elif probability < calibration.weak:
        verdict = "weak"
    return replace(evidence, probability=probability, verdict=verdict)


def probability_of(evidence: Evidence, calibration: Calibration) -> float:
    """Return the probability that the passages can answer, 0 to 1."""
    weights = (calibration.bias, calibration.cosine, calibration.match)
    return _logistic(sum(w * x for w, x in zip(weights, _features(evidence), strict=True)))


def calibrate(
    answerable: Sequence[Evidence],
    unanswerable: Sequence[Evidence],
    *,
    embedding_model: str,
    least: int = LEAST_QUESTIONS,
) -> Calibration:
    """Fit a calibration to questions that passages could and could not answer.

    Logistic regression with an L2 penalty by Newton's method, both kinds weighing the same, so
    that a probability of 0.5 stands for even odds whatever the mixture was. Raises ``ValueError``
    for fewer than ``least`` of a kind.
    """
    if min(len(answerable), len(unanswerable)) < least:
        raise ValueError(
            f"{len(answerable)} answerable and {len(unanswerable)} unanswerable questions: "
            f"at least {least} of each are needed"
        )
    rows = [
        (_features(evidence), target, 0.5 / len(kind))
        for kind, target in ((answerable, 1.0), (unanswerable, 0.0))
        for evidence in kind
    ]
    weights = _fitted(rows, count=len(rows))
    return Calibration(
        embedding_model=embedding_model,
        bias=weights[0],
        cosine=weights[1],
        match=weights[2],
        questions=len(rows),
    )


def _features(evidence: Evidence) -> tuple[float, ...]:
    return (1.0, evidence.top_cosine or 0.0, evidence.best_match)


def _fitted(rows: Sequence[tuple[tuple[float, ...], float, float]], *, count: int) -> list[float]:
    width = len(rows[0][0])
    weights = [0.0] * width
    ridge = [0.0] + [_RIDGE / count] * (width - 1)
    for _ in range(_STEPS):
        gradient = [r * w for r, w in zip(ridge, weights, strict=True)]
        hessian = [[ridge[i] if i == j else 0.0 for j in range(width)] for i in range(width)]
        for features, target, weight in rows:
            p = _logistic(sum(w * x for w, x in zip(weights, features, strict=True)))
            for i in range(width):
                gradient[i] += weight * (p - target) * features[i]
                for j in range(width):
                    hessian[i][j] += weight * p * (1 - p) * features[i] * features[j]
        hessian[0][0] += 1e-9
        step = _solved(hessian, gradient)
        weights = [w - s for w, s in zip(weights, step, strict=True)]
        if max(abs(s) for s in step) < 1e-9:
            break
    return weights


def _solved(matrix: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Solve a small system of linear equations by Gaussian elimination with pivoting."""
    size = len(values)
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda number: abs(rows[number][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for number in range(column + 1, size):
            factor = rows[number][column] / rows[column][column]
            rows[number] = [a - factor * b for a, b in zip(rows[number], rows[column], strict=True)]
    solution = [0.0] * size
    for number in reversed(range(size)):
        known = sum(rows[number][j] * solution[j] for j in range(number + 1, size))
        solution[number] = (rows[number][size] - known) / rows[number][number]
    return solution


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))
