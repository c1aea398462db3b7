"""What is normal for a signal, and whether a day left it.

The band is the median of the days before plus and minus three and a half of their spreads, a spread
being 1.4826 times the median absolute deviation (the modified z-score of Iglewicz and Hoaglin, *How
to Detect and Handle Outliers*, 1993), or where 90 in 100 of these days lay, whichever is wider.
Times and counts are compared by their logarithm. Of a share, the band is what chance makes of the
share of all the days before (the binomial distribution), as many times wider as they spread more
than chance. A day with fewer questions than usual has a wider band, and so have bands from few
days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

LEAST_DAYS: Final = 8
LEAST_QUESTIONS: Final = 5
SPREADS: Final = 3.5
"""How many spreads from the median a day may lie.

On made-up calm days 3 of 200 checks of two days and 7 of 200 of eight raised an alarm, over 20
signals each; with 3.0 it was 4 and 19.
"""

BY_CHANCE: Final = 0.0003
"""How often a share may leave its band by chance alone, on either side."""

SPREADS_TOGETHER: Final = 3.0
"""The same for several days together, which are one comparison."""


_MAD_TO_SPREAD: Final = 1.4826
_LEAST_SPREAD: Final = {"ratio": 0.05, "plain": 0.008, "share": 0.0}
"""Below this a change is too small to be told of: 5 % of a time, .008 of a cosine."""

Scale = Literal["ratio", "plain", "share"]
Side = Literal["", "above", "below"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A signal of one day, and how many questions it is taken from; ``None`` for no value."""

    day: str
    value: float | None
    questions: int

    @property
    def counts(self) -> bool:
        """Whether it is taken from enough questions to be judged."""
        return self.value is not None and self.questions >= LEAST_QUESTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Where a signal normally lies: ``low`` to ``high`` for a day of usual size."""

    low: float
    middle: float
    high: float
    days: int


class Normal:
    """What some days say is normal; knows its own scale."""

    def __init__(self, points: Sequence[Point], scale: Scale) -> None:
        """Take days that count; see :func:`normal_of`."""
        self._scale = scale
        self._days = len(points)
        self._usual = median(point.questions for point in points)
        placed = sorted(_placed(point.value or 0.0, point.questions, scale) for point in points)
        self._middle = median(placed)
        deviation = _MAD_TO_SPREAD * median(abs(one - self._middle) for one in placed)
        self._spread = max(deviation, _LEAST_SPREAD[scale])
        self._inner = (_quantile(placed, 0.05), _quantile(placed, 0.95))
        self._all = sum(point.questions for point in points)
        self._had = sum((point.value or 0.0) * point.questions for point in points)
        self._beyond_chance = self._dispersion(points) if scale == "share" else 1.0

    def band(self, questions: int | None = None) -> Band:
        """Return the band for a day with so many questions, or as many as usual.

        It is in the signal's own unit.
        """
        size = self._usual if questions is None else questions
        low, high = self._limits(size)
        return Band(
            low=_back(low, size, self._scale),
            middle=_back(self._middle, size, self._scale),
            high=_back(high, size, self._scale),
            days=self._days,
        )

    def side_of(self, point: Point) -> Side:
        """Tell on which side of the band a day lies, empty for inside and for too few questions."""
        if point.value is None or not point.counts:
            return ""
        low, high = self._limits(point.questions)
        placed = _placed(point.value, point.questions, self._scale)
        return "above" if placed > high else "below" if placed < low else ""

    def side_of_mean(self, points: Sequence[Point]) -> Side:
        """Tell on which side of the band days lie together: it narrows with their number.

        A shift too small to show on one day shows on several.
        """
        counted = [point for point in points if point.counts]
        if not counted:
            return ""
        placed = [_placed(point.value or 0.0, point.questions, self._scale) for point in counted]
        mean = math.fsum(placed) / len(placed)
        # The median of the days before is itself known only to so much.
        of_middle = 1.2533 * self._spread / math.sqrt(self._days)
        spread = math.hypot(self._spread / math.sqrt(len(placed)), of_middle)
        reach = SPREADS_TOGETHER * spread
        apart = mean - self._middle
        return "above" if apart > reach else "below" if apart < -reach else ""

    def _limits(self, questions: float) -> tuple[float, float]:
        """Return the limits for a day with so many questions, on the scale of comparison."""
        low, high = self._inner
        if self._scale != "share":
            thinner = math.sqrt(max(1.0, self._usual / questions))
            reach = SPREADS * self._spread * (1 + 4 / self._days)
            below, above = max(reach, self._middle - low), max(reach, high - self._middle)
            return (self._middle - below * thinner, self._middle + above * thinner)
        fewest, greatest = self._by_chance(round(questions))
        return (min(fewest, low), max(greatest, high))

    def _by_chance(self, questions: int) -> tuple[float, float]:
        """Return the limits within which a share stays by chance, on the scale of comparison.

        They are those of the binomial distribution, the share of all the days before being known
        to one standard error alone, times what these days spread more than chance would have them.
        """
        share = (self._had + 0.5) / (self._all + 1)
        error = math.sqrt(share * (1 - share) / self._all)
        greatest = _binomial_limit(questions, min(share + error, 1.0)) / questions
        fewest = 1 - _binomial_limit(questions, 1 - max(share - error, 0.0)) / questions
        wider = self._beyond_chance
        return (
            _placed(share + (fewest - share) * wider, questions, "share"),
            _placed(share + (greatest - share) * wider, questions, "share"),
        )

    def _dispersion(self, points: Sequence[Point]) -> float:
        """Return how many times more the days spread than the binomial distribution has it."""
        share = (self._had + 0.5) / (self._all + 1)
        apart = [
            abs((point.value or 0.0) - share) / math.sqrt(share * (1 - share) / point.questions)
            for point in points
        ]
        return max(1.0, _MAD_TO_SPREAD * median(apart))


def normal_of(points: Sequence[Point], scale: Scale) -> Normal | None:
    """Return what is normal by these days, ``None`` where too few of them have enough questions."""
    counted = [point for point in points if point.counts]
    return Normal(counted, scale) if len(counted) >= LEAST_DAYS else None


def _placed(value: float, questions: int, scale: Scale) -> float:
    if scale == "ratio":
        return math.log1p(max(value, 0.0))
    if scale == "share":
        share = (value * questions + 0.375) / (questions + 0.75)
        return math.asin(math.sqrt(min(max(share, 0.0), 1.0)))
    return value


def _back(placed: float, questions: float, scale: Scale) -> float:
    if scale == "ratio":
        return max(math.expm1(placed), 0.0)
    if scale == "share":
        share = math.sin(min(max(placed, 0.0), math.pi / 2)) ** 2
        return min(max((share * (questions + 0.75) - 0.375) / questions, 0.0), 1.0)
    return placed


def _quantile(ordered: Sequence[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def _binomial_limit(trials: int, share: float) -> int:
    """Return the least number that is exceeded with a probability of at most ``BY_CHANCE``."""
    if share <= 0:
        return 0
    if share >= 1:
        return trials
    beyond = 0.0
    for number in range(trials, 0, -1):
        beyond += math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(number + 1)
            - math.lgamma(trials - number + 1)
            + number * math.log(share)
            + (trials - number) * math.log1p(-share)
        )
        if beyond > BY_CHANCE:
            return number
    return 0
