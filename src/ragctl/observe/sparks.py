"""Numbers as a line of bars, one character each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_ASCII: Final = "_.-=+*#@"


def sparkline(values: Sequence[float | None], *, unicode: bool = True, width: int = 40) -> str:
    """Return a bar a value, from the least to the greatest; a blank where there is no value.

    Where there are more values than ``width``, neighbours share a bar of their mean.
    """
    shown = _thinned(values, width)
    known = [value for value in shown if value is not None]
    if not known:
        return ""
    least, most = min(known), max(known)
    bars = _BARS if unicode else _ASCII
    reach = most - least
    flat = len(bars) // 2 if most else 0

    def bar(value: float) -> str:
        return bars[round((value - least) / reach * (len(bars) - 1)) if reach else flat]

    return "".join(" " if value is None else bar(value) for value in shown)


def _thinned(values: Sequence[float | None], width: int) -> list[float | None]:
    if len(values) <= width:
        return list(values)
    pieces = [
        values[number * len(values) // width : (number + 1) * len(values) // width]
        for number in range(width)
    ]
    return [_mean([one for one in piece if one is not None]) for piece in pieces]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
