"""Plots of a report as SVG text: no scripts, colours from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.observe.bands import Band
    from ragctl.observe.signals import Day

_SMALL = (240, 44)
_LARGE = (720, 200)
_LEFT, _BOTTOM, _TOP = 52, 22, 10


def small_plot(days: Sequence[Day], band: Band | None, *, label: str) -> str:
    """Return a line over days with its band behind it; days out of the band are marked."""
    width, height = _SMALL
    return _line(days, band, size=(width, height), left=4, bottom=4, top=4, label=label)


def large_plot(days: Sequence[Day], band: Band | None, *, label: str) -> str:
    """Return the same larger, with values and days along its sides."""
    width, height = _LARGE
    known = _values(days, band)
    if not known:
        return ""
    low, high = _reach(known)
    sides = "".join(
        f'<text x="{_LEFT - 6}" y="{_y(value, low, high, height, _BOTTOM, _TOP) + 4:.1f}" '
        f'text-anchor="end">{value:.2f}</text>'
        for value in (low, (low + high) / 2, high)
    )
    names = _day_names([day.point.day for day in days], width, height)
    return _line(
        days,
        band,
        size=(width, height),
        left=_LEFT,
        bottom=_BOTTOM,
        top=_TOP,
        label=label,
        more=sides + names,
    )


def stacked_plot(
    days: Sequence[str],
    parts: Sequence[tuple[str, Sequence[float | None]]],
    *,
    label: str,
    unit: str = "",
) -> str:
    """Return a bar a day, made of parts one on the other; part n has the class ``part-n``."""
    width, height = _LARGE
    sums = [sum(values[at] or 0.0 for _, values in parts) for at in range(len(days))]
    most = max(sums, default=0.0)
    if not most:
        return ""
    step = (width - _LEFT) / len(days)
    pieces = [
        f'<text x="{_LEFT - 6}" y="{_y(value, 0, most, height, _BOTTOM, _TOP) + 4:.1f}" '
        f'text-anchor="end">{value:,.{0 if most >= 10 else 1}f}{unit}</text>'
        for value in (0.0, most / 2, most)
    ]
    for at, day in enumerate(days):
        base = 0.0
        for number, (name, values) in enumerate(parts):
            value = values[at] or 0.0
            if not value:
                continue
            top = _y(base + value, 0, most, height, _BOTTOM, _TOP)
            bottom = _y(base, 0, most, height, _BOTTOM, _TOP)
            pieces.append(
                f'<rect class="part-{number}" x="{_LEFT + at * step + step * 0.1:.1f}" '
                f'y="{top:.1f}" width="{step * 0.8:.1f}" height="{bottom - top:.1f}">'
                f"<title>{escape(day)} {escape(name)}: {value:,.1f}{unit}</title></rect>"
            )
            base += value
    pieces.append(_day_names(days, width, height))
    return _svg("".join(pieces), size=(width, height), label=label)


def legend(names: Sequence[str]) -> str:
    """Return what the colours of a stacked plot stand for."""
    keys = (
        f'<span><svg class="key" viewBox="0 0 10 10" aria-hidden="true"><rect class="part-{number}"'
        f' width="10" height="10"/></svg> {escape(name)}</span>'
        for number, name in enumerate(names)
    )
    return f'<p class="legend">{" ".join(keys)}</p>'


def _line(
    days: Sequence[Day],
    band: Band | None,
    *,
    size: tuple[int, int],
    left: int,
    bottom: int,
    top: int,
    label: str,
    more: str = "",
) -> str:
    width, height = size
    known = _values(days, band)
    if not known:
        return ""
    low, high = _reach(known)
    step = (width - left - 8) / max(len(days) - 1, 1)
    places = [
        (left + 4 + at * step, _y(day.point.value, low, high, height, bottom, top), day)
        for at, day in enumerate(days)
        if day.point.value is not None
    ]
    pieces = [more]
    if band is not None:
        upper = _y(min(band.high, high), low, high, height, bottom, top)
        lower = _y(max(band.low, low), low, high, height, bottom, top)
        middle = _y(band.middle, low, high, height, bottom, top)
        pieces.append(
            f'<rect class="band" x="{left}" y="{upper:.1f}" width="{width - left}" '
            f'height="{max(lower - upper, 1):.1f}"/>'
            f'<path class="middle" d="M{left} {middle:.1f}H{width}"/>'
        )
    path = " L".join(f"{x:.1f} {y:.1f}" for x, y, _ in places)
    pieces.append(f'<path class="line" d="M{path}"/>')
    for x, y, day in places:
        kind = f"dot {day.side}".strip()
        told = f"{day.point.day}: {day.point.value:,.3f} of {day.point.questions:,} questions"
        pieces.append(
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{3.5 if day.side else 1.6}">'
            f"<title>{escape(told)}</title></circle>"
        )
    return _svg("".join(pieces), size=size, label=label)


def _values(days: Sequence[Day], band: Band | None) -> list[float]:
    """Return what a plot must have room for; nothing where no day has a value."""
    values = [day.point.value for day in days if day.point.value is not None]
    return [*values, band.low, band.high] if values and band else values


def _reach(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _y(value: float, low: float, high: float, height: int, bottom: int, top: int) -> float:
    room = height - bottom - top
    return height - bottom - (value - low) / (high - low) * room


def _day_names(days: Sequence[str], width: int, height: int) -> str:
    """Return the first, the middle and the last day below a plot."""
    if not days:
        return ""
    named = [(_LEFT, "start", days[0]), (width, "end", days[-1])]
    if len(days) > 4:
        named.insert(1, ((_LEFT + width) // 2, "middle", days[len(days) // 2]))
    return "".join(
        f'<text x="{x}" y="{height - 5}" text-anchor="{anchor}">{escape(day)}</text>'
        for x, anchor, day in named[: len(days)]
    )


def _svg(content: str, *, size: tuple[int, int], label: str) -> str:
    width, height = size
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f"{content}</svg>"
    )
