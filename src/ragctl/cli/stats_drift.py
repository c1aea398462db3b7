"""``ragctl stats drift``: whether questions move away from what the site covers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output
from ragctl.cli.render import new_table
from ragctl.cli.stats_data import DriftFound, drift_found, period_of
from ragctl.cli.stats_overview import in_words, knows_bars, period_document
from ragctl.cli.stats_words import NOT_ENOUGH, percent, rounded_share
from ragctl.observe.sparks import sparkline

if TYPE_CHECKING:
    from ragctl.observe.bands import Band
    from ragctl.observe.drift import Drift, DriftDay
    from ragctl.records.signals import FarQuestion


def drift(
    since: options.Since = "4w",
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show the cosine of the best passage by day, and the questions behind a shift.

    A day is compared with the 28 days before the period, and so are all its days together, which
    shows a shift too small for one day. Only questions of one embedding model count.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        found = drift_found(database, period_of(since))
    if json:
        output.json(_document(found))
        return
    if not found.drift.days:
        output.remark("No question was searched by nearness in this time.")
        return
    _show(found, output)


def _show(found: DriftFound, output: Output) -> None:
    drift = found.drift
    output.line(Text(f"Top cosine, {in_words(found.period)}", style="bold"))
    values = [one.day.point.value for one in drift.days]
    if spark := sparkline(values, unicode=knows_bars(), width=56):
        output.line(spark)
    output.line(f"normal {normal_cosine(drift.band)}, by {found.embedding_model}")
    output.line()
    table = new_table("day", "questions", "cosine", "not covered", "", text_columns=(0, 4))
    for one in drift.days:
        side = Text(one.day.side, style="bold red" if one.day.side == "below" else "yellow")
        table.add_row(*day_cells(one), side)
    output.table(table)
    output.line()
    output.line(verdict(drift))
    _show_questions(found.questions, output)


def day_cells(one: DriftDay) -> tuple[str, str, str, str]:
    """Return day, questions, median cosine and share not covered, as they are shown."""
    point = one.day.point
    value = "-" if point.value is None else f"{point.value:.3f}"
    return (point.day, f"{point.questions:,}", value, percent(one.uncovered))


def normal_cosine(band: Band | None) -> str:
    """Return the band of the cosine as it is shown."""
    return NOT_ENOUGH if band is None else f"{band.low:.3f} to {band.high:.3f}"


def verdict(drift: Drift) -> str:
    """Say in a sentence what the days show."""
    if drift.band is None:
        return "What is normal is not known yet."
    below = [one.day.point.day for one in drift.days if one.day.side == "below"]
    together = {
        "below": "All days together lie below what was normal.",
        "above": "All days together lie above what was normal.",
        "": "All days together lie where they normally do.",
    }[drift.together]
    if not below:
        return f"No day lies below the band. {together}"
    return f"Below the band: {', '.join(below)}. {together}"


def _show_questions(questions: tuple[FarQuestion, ...], output: Output) -> None:
    if not questions:
        return
    output.line()
    output.line(Text("Farthest from the site on these days", style="bold"))
    for one in questions:
        text = " ".join((one.question or f"(text not kept, trace {one.id})").split())
        output.line(f"  {one.day[5:]}  {one.top_cosine:.3f}  {text}")


def _document(found: DriftFound) -> dict[str, object]:
    band = found.drift.band
    return {
        "schema": "ragctl.drift/1",
        **period_document(found.period),
        "embedding_model": found.embedding_model,
        "normal": None
        if band is None
        else {
            "low": rounded_share(band.low),
            "middle": rounded_share(band.middle),
            "high": rounded_share(band.high),
            "days": band.days,
        },
        "together": found.drift.together,
        "shifted": list(found.drift.shifted),
        "days": [
            {
                "day": one.day.point.day,
                "questions": one.day.point.questions,
                "top_cosine": rounded_share(one.day.point.value),
                "side": one.day.side,
                "not_covered": rounded_share(one.uncovered),
            }
            for one in found.drift.days
        ],
        "questions": [
            {
                "day": one.day,
                "trace_id": one.id,
                "question": one.question,
                "top_cosine": rounded_share(one.top_cosine),
                "top_ref": one.top_ref,
            }
            for one in found.questions
        ],
    }
