"""Whether questions move away from what the site covers, by the cosine of the best passage.

One question tells little, for the nearest passage is always somewhat near; the median of a day
tells more, and several days more still.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.observe.bands import Band, Side, normal_of
from ragctl.observe.signals import SIGNALS, Day, judged, point_of

if TYPE_CHECKING:
    from ragctl.records.signals import BelowBound, Period, SignalRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftDay:
    """A day: its median top cosine, and how many of its questions are probably not covered.

    ``uncovered`` is ``None`` where the embedding model has no calibration.
    """

    day: Day
    uncovered: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The days of a period, what was normal before, and where the period lies as a whole."""

    days: tuple[DriftDay, ...]
    band: Band | None
    together: Side

    @property
    def shifted(self) -> tuple[str, ...]:
        """The days below the band; where only all days together are, the lowest third of them."""
        below = [one.day.point.day for one in self.days if one.day.side == "below"]
        if below or self.together != "below":
            return tuple(below)
        known = [one.day.point for one in self.days if one.day.point.counts]
        known.sort(key=lambda point: (point.value or 0.0, point.day))
        return tuple(sorted(point.day for point in known[: max(1, len(known) // 3)]))


def drift_of(rows: Sequence[SignalRow], below: Iterable[BelowBound], *, period: Period) -> Drift:
    """Return the drift over a period; ``rows`` hold the days before it too."""
    signal = next(one for one in SIGNALS if one.key == "top_cosine")
    first = period.since.isoformat()
    points = [point_of(signal, row.key, row) for row in rows]
    normal = normal_of([point for point in points if point.day < first], signal.scale)
    now = [point for point in points if point.day >= first]
    shares = {one.day: one.below / one.questions for one in below if one.questions}
    return Drift(
        days=tuple(
            DriftDay(
                day=judged(point, normal),
                uncovered=shares.get(point.day),
            )
            for point in now
        ),
        band=normal.band() if normal else None,
        together=normal.side_of_mean(now) if normal else "",
    )
