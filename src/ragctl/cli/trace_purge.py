"""Removes traces or their texts, after it was said how many."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

import typer

from ragctl.cli.output import Output
from ragctl.db.traces import Traces
from ragctl.errors import UsageError
from ragctl.settings import TracesSettings


def purge_older(
    traces: Traces,
    output: Output,
    *,
    now: datetime,
    age: timedelta | None,
    texts_alone: bool,
    yes: bool,
) -> None:
    """Remove the traces older than an age, all for ``None``, or take their texts alone."""
    moment = now if age is None else _before(now, age)
    count, with_texts = traces.count_before(moment)
    which = "" if age is None else f" from before {moment:%Y-%m-%d %H:%M}"
    if texts_alone:
        if _agreed(f"Remove the texts of {_traces(with_texts)}{which}?", with_texts, output, yes):
            output.line(f"removed the texts of {_traces(traces.empty_before(moment))}")
    elif _agreed(f"Remove {_traces(count)}{which}?", count, output, yes):
        output.line(f"removed {_traces(traces.remove_before(moment))}")


def purge_by_settings(
    traces: Traces,
    settings: TracesSettings,
    output: Output,
    *,
    now: datetime,
    texts_alone: bool,
    yes: bool,
) -> None:
    """Remove the traces that are older than the settings keep them, and the texts of others."""
    kept = None if texts_alone else _kept_since(now, settings.keep_days)
    texts_kept = _kept_since(now, settings.keep_text_days)
    removed = traces.count_before(kept) if kept else (0, 0)
    with_texts = traces.count_before(texts_kept)[1] if texts_kept else 0
    emptied = max(with_texts - removed[1], 0)
    question = f"Remove {_traces(removed[0])}, and the texts of {emptied:,} more?"
    if texts_alone:
        question = f"Remove the texts of {_traces(emptied)}?"
    if not _agreed(question, removed[0] + emptied, output, yes):
        return
    if kept:
        output.line(f"removed {_traces(traces.remove_before(kept))}")
    if texts_kept:
        output.line(f"removed the texts of {_traces(traces.empty_before(texts_kept))}")


def _kept_since(now: datetime, days: int) -> datetime | None:
    return _before(now, timedelta(days=days)) if days else None


def _before(now: datetime, age: timedelta) -> datetime:
    try:
        return now - age
    except OverflowError:
        return datetime.min.replace(tzinfo=now.tzinfo)


def _agreed(question: str, count: int, output: Output, yes: bool) -> bool:
    """Tell whether to go on; says that there is nothing to remove, or what will be removed."""
    if count == 0:
        output.remark("There is nothing to remove.")
        return False
    if yes:
        return True
    if not os.isatty(0):
        raise UsageError(f"{question[:-1]}: nobody is there to ask", hint="Give --yes.")
    typer.confirm(question, abort=True)
    return True


def _traces(count: int) -> str:
    return "1 trace" if count == 1 else f"{count:,} traces"
