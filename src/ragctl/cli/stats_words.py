"""How figures of ``ragctl stats`` and ``ragctl report`` are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragctl.observe.signals import Day, Signal, answers, share
from ragctl.records.signals import SignalRow

if TYPE_CHECKING:
    from ragctl.observe.bands import Band, Side

NOT_ENOUGH = "not enough yet"


def figure(value: float | None, signal: Signal) -> str:
    """Return a value of a signal in its unit, ``-`` where nothing is known."""
    if value is None:
        return "-"
    if signal.unit == "ms":
        return milliseconds(value)
    if signal.unit == "share":
        return percent(value)
    if signal.unit == "per 1,000":
        return f"{value * 1000:,.0f}"
    if signal.unit in ("cosine", "probability"):
        return f"{value:.3f}"
    return f"{value:,.0f}"


def milliseconds(value: float | None) -> str:
    """Return a time as one reads it: 840 ms, 5.7 s."""
    if value is None:
        return "-"
    if value >= 999.5:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if value >= 9.95 else f"{value:.1f} ms"


def percent(value: float | None) -> str:
    """Return a share in hundredths."""
    if value is None:
        return "-"
    return f"{value * 100:.0f} %" if value >= 0.0995 or value == 0 else f"{value * 100:.1f} %"


def dollars(value: float | None) -> str:
    """Return US dollars with as many places as tell something."""
    if value is None:
        return "-"
    if value and value < 0.01:
        return f"${value:.5f}"
    return f"${value:,.4f}" if value and value < 1 else f"${value:,.2f}"


def normal(band: Band | None, signal: Signal) -> str:
    """Return a band as it is shown."""
    if band is None:
        return NOT_ENOUGH
    return f"{figure(band.low, signal)} to {figure(band.high, signal)}"


def marks(days: Iterable[Day], *, total: int) -> str:
    """Return on which days a signal was out of its band: ``above 03-04 and 2 more``."""
    out = list(days)
    if not out:
        return ""
    told: list[str] = []
    sides: tuple[Side, ...] = ("above", "below")
    for side in sides:
        on = [day.point.day[5:] for day in out if day.side == side]
        if len(on) > 2:
            told.append(f"{side} on {len(on)} of {total} days, last {on[-1]}")
        elif on:
            told.append(f"{side} {' '.join(on)}")
    return ", ".join(told)


def row_document(row: SignalRow) -> dict[str, object]:
    """Return a row of signals as JSON has it; shares are of the answers, from 0 to 1."""
    counted = {name: getattr(row, name) for name in SignalRow.__slots__ if name != "key"}
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in counted.items()
    }
    flagged = share(row.flagged, answers(row))
    return {
        **rounded,
        "flagged_per_1000": None if flagged is None else round(flagged * 1000, 1),
        "good_share": rounded_share(share(row.good, row.good + row.bad)),
    }


def rounded_share(value: float | None) -> float | None:
    """Return a number as JSON has it."""
    return None if value is None else round(value, 6)
