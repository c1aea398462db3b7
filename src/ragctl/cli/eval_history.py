"""``ragctl eval history``: what was measured before, and what changed since."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.eval_answers_shown import STORED_COUNTS, STORED_NAMES
from ragctl.cli.eval_documents import history_document
from ragctl.cli.eval_tables import figure_names
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.evaluate.runs import TOKENS, changes, what_differs

if TYPE_CHECKING:
    from rich.table import Table

    from ragctl.records.evaluations import PastEvaluation

_SAME = {False: 0.005, True: 0.5}  # what is shown as no change: of a share, of a count


def history(
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="KIND", help="Only such runs: retrieval or answers."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="NAME", help="Only runs of question files of this name."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="How many runs at most.")
    ] = 20,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the runs that were stored, newest first, with what changed since the run before.

    That is the last run of the same questions (by the content of the file), kind, label and k.
    Where the index or the program is another, the line says so.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        runs = database.evaluations.history(
            kind=kind, file=PurePath(file).name if file else None, at_most=limit
        )
    if json:
        output.json(history_document(runs))
    elif runs:
        _show(runs, output)
    else:
        which = "No stored run fits." if kind or file else "No run is stored yet."
        output.remark(f"{which} `ragctl eval retrieval FILE` and `answers` measure and store one.")


def _show(runs: Sequence[PastEvaluation], output: Output) -> None:
    """Print a table for each kind of run, for they have no figure in common."""
    for number, kind in enumerate(dict.fromkeys(past.run.kind for past in runs)):
        if number:
            output.line()
        _show_kind([past for past in runs if past.run.kind == kind], output)


def _show_kind(runs: Sequence[PastEvaluation], output: Output) -> None:
    """Print a line a run, or where that does not fit a few short ones."""
    table = _table(runs)
    if output.fits(table):
        output.table(table)
        return
    for past in runs:
        run = past.run
        output.line(Text(_time(past), style="bold"))
        output.line(f"  {run.file}, {run.kind} {run.label}, k {run.k}")
        for name in _in_order(run.figures):
            if cell := _cell(past, name):
                output.line(f"  {_shown(name, past):<15} {cell}")
        if note := _note(past):
            output.line(f"  {note}")


def _table(runs: Sequence[PastEvaluation]) -> Table:
    figures = _in_order({name for past in runs for name in past.run.figures})
    table = new_table(
        *("at", "file", "kind", "label", "k", "questions"),
        *(_heading(name) for name in figures),
        "since the run before",
        text_columns=(0, 1, 2, 3, *range(6, 7 + len(figures))),
    )
    for past in runs:
        run = past.run
        table.add_row(
            _time(past),
            *(Text(harmless(text)) for text in (run.file, run.kind, run.label)),
            str(run.k),
            f"{run.questions:,}",
            *(_cell(past, name) or "-" for name in figures),
            _note(past),
        )
    return table


def _in_order(names: Iterable[str]) -> list[str]:
    """Return figures as they are always shown; a database keeps no order of theirs."""
    known = [*figure_names(0), TOKENS, *STORED_NAMES]
    places = {name: place for place, name in enumerate(known)}
    return sorted(names, key=lambda name: (places.get(name, len(known)), name))


def _time(past: PastEvaluation) -> str:
    return f"{past.run.at.astimezone():%Y-%m-%d %H:%M:%S}"


def _heading(name: str) -> str:
    """Return a figure's name where runs of several k stand below each other."""
    shown = {key: text.replace("@0", "@k") for key, text in figure_names(0).items()}
    shown |= STORED_NAMES
    return harmless("tokens" if name == TOKENS else shown.get(name, name))


def _shown(name: str, past: PastEvaluation) -> str:
    return figure_names(past.run.k).get(name, _heading(name))


def _cell(past: PastEvaluation, name: str) -> str:
    """Return a figure and how it changed: ``0.85 +0.02``, ``=`` for none; empty for no figure."""
    value, change = past.run.figures.get(name), changes(past).get(name)
    if value is None:
        return ""
    is_count = name in STORED_COUNTS or (abs(value) > 1 and float(value).is_integer())
    shown = f"{value:,.0f}" if is_count else f"{value:.2f}"
    if change is None:
        return shown
    if abs(change) < _SAME[is_count]:
        return f"{shown} ="
    return f"{shown} {change:+,.0f}" if is_count else f"{shown} {change:+.2f}"


def _note(past: PastEvaluation) -> str:
    """Say what else changed since the run before."""
    if past.before is None:
        return ""
    told = what_differs(past)
    index = [name for name in told if name != "program"]
    notes = [f"other index ({', '.join(index)})"] if index else []
    if "program" in told:
        notes.append(f"other program ({past.before.program_version})")
    return harmless(", ".join(notes))
