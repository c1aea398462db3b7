"""How far a figure may be off, and the difference between two: the percentile bootstrap.

Questions are drawn anew with replacement, as many as there are, and the figure is taken of each
draw; the middle 95% of what comes out is the interval (Efron and Tibshirani, *An Introduction to
the Bootstrap*, chapter 13). The draws of as many questions with one seed are always the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

LEVEL: Final = 0.95
RESAMPLES: Final = 2000
SEED: Final = 0

Values = Mapping[str, float | None]
"""What one question adds to each figure, ``None`` where it does not count for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where a mean lies in 95 of 100 draws."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """By how much a figure is above another's, over the questions that count for both."""

    figure: str
    mean: float | None
    interval: Interval | None
    questions: int


def interval(
    values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval | None:
    """Return the interval of the mean of some values; ``None`` for fewer than two."""
    if len(values) < 2:
        return None
    draw = Random(seed).choices
    count = len(values)
    means = sorted(math.fsum(draw(values, k=count)) / count for _ in range(resamples))
    outside = (1 - LEVEL) / 2
    return Interval(
        low=means[math.floor(outside * resamples)],
        high=means[math.ceil((1 - outside) * resamples) - 1],
    )


def intervals(
    questions: Iterable[Values], *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, Interval | None]:
    """Return the interval of every figure, over the questions that count for it."""
    columns: dict[str, list[float]] = {}
    for values in questions:
        for figure, value in values.items():
            column = columns.setdefault(figure, [])
            if value is not None:
                column.append(value)
    return {
        figure: interval(column, resamples=resamples, seed=seed)
        for figure, column in columns.items()
    }


def differences(
    first: Sequence[Values],
    second: Sequence[Values],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[Difference, ...]:
    """Return by how much each figure of ``second`` is above that of ``first``.

    Both hold the same questions in the same order, and a question is drawn for both at once.
    """
    found = []
    for figure in first[0] if first else ():
        changes = [
            after - before
            for one, other in zip(first, second, strict=True)
            if (before := one[figure]) is not None and (after := other[figure]) is not None
        ]
        found.append(
            Difference(
                figure=figure,
                mean=math.fsum(changes) / len(changes) if changes else None,
                interval=interval(changes, resamples=resamples, seed=seed),
                questions=len(changes),
            )
        )
    return tuple(found)
