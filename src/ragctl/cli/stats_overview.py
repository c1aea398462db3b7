"""How the overview of ``ragctl stats`` is shown, as a table, as rows and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted, new_table
from ragctl.cli.stats_words import (
    figure,
    marks,
    milliseconds,
    normal,
    percent,
    rounded_share,
    row_document,
)
from ragctl.observe.bands import LEAST_DAYS, LEAST_QUESTIONS
from ragctl.observe.signals import Standing, answers, share
from ragctl.observe.sparks import sparkline

if TYPE_CHECKING:
    from ragctl.cli.stats_data import Overview
    from ragctl.records.signals import Period, SignalRow

_NOTHING = 'Nothing was asked in this time. `ragctl ask "..."` asks; traces are what is counted.'
_TOO_FEW = (
    f"What is normal is not known yet: that takes {LEAST_DAYS} days with {LEAST_QUESTIONS} "
    "questions each in the 28 days before."
)
_NARROW = 58
_UNNAMED = {"day": "-", "track": "(no passage)", "route": "(nobody)", "model": "(nobody)"}


def knows_bars() -> bool:
    """Tell whether the stream of data can show bars of blocks."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def in_words(period: Period) -> str:
    """Return a period as it is shown: its first and its last day."""
    last = period.until.fromordinal(period.until.toordinal() - 1)
    if last == period.since:
        return f"{period.since.isoformat()} (UTC)"
    return f"{period.since.isoformat()} to {last.isoformat()} (UTC)"


def show_overview(found: Overview, output: Output) -> None:
    """Print a line a signal, or where that does not fit two short ones."""
    if found.whole is None:
        output.remark(_NOTHING)
        return
    output.line(Text(in_words(found.period), style="bold"))
    for line in _packed(sum_of(found.whole).split(", ")):
        output.line(line)
    output.line()
    shown = [one for one in found.standings if one.value is not None]
    table = new_table("signal", "value", "by day", "normal", "", text_columns=(0, 2, 3, 4))
    for one in shown:
        table.add_row(
            one.signal.label,
            figure(one.value, one.signal),
            _spark(one),
            normal(one.band, one.signal),
            _marks(one),
        )
    if output.fits(table):
        output.table(table)
    else:
        for one in shown:
            _show_narrow(one, output)
    _show_attempts(found, output)
    if all(one.band is None for one in shown):
        output.remark(_TOO_FEW)


def _show_narrow(one: Standing, output: Output) -> None:
    output.line(Text(one.signal.label, style="bold"))
    output.line(f"  {figure(one.value, one.signal)}, normally {normal(one.band, one.signal)}")
    if spark := _spark(one):
        output.line(f"  {spark}")
    if one.left:
        output.line(Text.assemble("  ", _marks(one)))


def _show_attempts(found: Overview, output: Output) -> None:
    failing = [one for one in found.attempts if one.answered < one.attempts]
    if not failing:
        return
    output.line()
    output.line(Text("Routes that did not always write", style="bold"))
    for one in failing:
        kept = f", breaker open {one.breaker_open:,} times" if one.breaker_open else ""
        output.line(f"  {one.route}: wrote {one.answered:,} of {one.attempts:,} times{kept}")


def sum_of(whole: SignalRow) -> str:
    """Return how many questions were asked and what became of them."""
    parts = [counted(whole.questions, "question")]
    named = ("answered", "refused", "extractive", "incomplete", "failed", "stopped")
    parts += [f"{getattr(whole, name):,} {name}" for name in named if getattr(whole, name)]
    return ", ".join(parts)


def _spark(one: Standing) -> str:
    return sparkline([day.point.value for day in one.days], unicode=knows_bars(), width=28)


def _marks(one: Standing) -> Text:
    style = "bold red" if one.alarms else "yellow"
    told = marks(one.left, total=len(one.days))
    return Text(f"{'! ' if one.alarms else ''}{told}", style=style)


def show_rows(rows: Sequence[SignalRow], *, by: str, output: Output) -> None:
    """Print a row a group, or where that does not fit a few lines each."""
    if not rows:
        output.remark(_NOTHING)
        return
    headings = (by, *(name for name, _ in group_cells(rows[0])))
    table = new_table(*headings)
    for row in rows:
        table.add_row(Text(group_name(row, by)), *(cell for _, cell in group_cells(row)))
    if output.fits(table):
        output.table(table)
        return
    for row in rows:
        output.line(Text(group_name(row, by), style="bold"))
        for line in _packed([f"{name} {cell}" for name, cell in group_cells(row)]):
            output.line(f"  {line}")


def _packed(pieces: Sequence[str]) -> list[str]:
    """Return pieces in as few lines as fit a narrow terminal."""
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + len(piece) <= _NARROW - 2:
            lines[-1] += f", {piece}"
        else:
            lines.append(piece)
    return lines


def group_name(row: SignalRow, by: str) -> str:
    """Return what a row stands for."""
    return harmless(row.key) or _UNNAMED[by]


def group_cells(row: SignalRow) -> tuple[tuple[str, str], ...]:
    """Return the headings and figures of a row, as they are shown."""
    whole = answers(row)
    return (
        ("questions", f"{row.questions:,}"),
        ("refused", percent(share(row.refused, whole))),
        ("failed", percent(share(row.failed, row.questions))),
        ("flagged", percent(share(row.flagged, whole))),
        ("fallbacks", f"{row.fallbacks:,}"),
        ("cached", percent(share(row.cached, whole))),
        ("good", percent(share(row.good, row.good + row.bad))),
        ("p50", milliseconds(row.p50_ms)),
        ("p95", milliseconds(row.p95_ms)),
        ("compute", milliseconds(row.compute_ms)),
        ("waiting", milliseconds(row.waiting_ms)),
        ("cosine", "-" if row.top_cosine is None else f"{row.top_cosine:.3f}"),
        ("tokens in", _count(row.prompt_tokens)),
        ("out", _count(row.output_tokens)),
    )


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def show_check(found: Overview, output: Output) -> bool:
    """Say on stderr what left its band for the worse, and tell whether anything did."""
    alarming = [one for one in found.standings if one.alarms]
    for one in alarming:
        for day in one.alarms:
            output.remark(
                f"{one.signal.label} was {figure(day.point.value, one.signal)} on "
                f"{day.point.day}, {day.side} its normal {normal(day.band, one.signal)}: "
                f"{one.signal.meaning}"
            )
    if not alarming and not any(_can_tell(one) for one in found.standings):
        output.remark(f"Not enough data to check: {_TOO_FEW[0].lower()}{_TOO_FEW[1:]}")
    return bool(alarming)


def _can_tell(one: Standing) -> bool:
    return one.band is not None and any(day.point.counts for day in one.days)


def overview_document(found: Overview) -> dict[str, object]:
    """Return the overview as JSON; the days of a signal without questions are null."""
    return {
        "schema": "ragctl.stats/1",
        **period_document(found.period),
        "embedding_model": found.embedding_model,
        "whole": row_document(found.whole) if found.whole else None,
        "signals": [_standing_document(one) for one in found.standings],
        "routes": [
            {
                "route": one.route,
                "attempts": one.attempts,
                "answered": one.answered,
                "breaker_open": one.breaker_open,
            }
            for one in found.attempts
        ],
    }


def period_document(period: Period) -> dict[str, object]:
    """Return a period as JSON has it: both days belong to it."""
    last = period.until.fromordinal(period.until.toordinal() - 1)
    return {"since": period.since.isoformat(), "until": last.isoformat()}


def _standing_document(one: Standing) -> dict[str, object]:
    band = one.band
    return {
        "signal": one.signal.key,
        "label": one.signal.label,
        "unit": "share" if one.signal.unit == "per 1,000" else one.signal.unit,
        "value": rounded_share(one.value),
        "normal": None
        if band is None
        else {
            "low": rounded_share(band.low),
            "middle": rounded_share(band.middle),
            "high": rounded_share(band.high),
            "days": band.days,
        },
        "left": [day.point.day for day in one.left],
        "alarms": [day.point.day for day in one.alarms],
        "days": [
            {
                "day": day.point.day,
                "value": rounded_share(day.point.value),
                "questions": day.point.questions,
                "side": day.side,
            }
            for day in one.days
        ],
    }


def rows_document(rows: Sequence[SignalRow], *, by: str, period: Period) -> dict[str, object]:
    """Return the rows of ``--by`` as JSON."""
    return {
        "schema": "ragctl.stats_by/1",
        "by": by,
        **period_document(period),
        "rows": [{by: row.key, **row_document(row)} for row in rows],
    }
