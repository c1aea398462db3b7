"""Removes traces or their texts, after it was said how many."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import typer

from ragctl.cli.render import counted
from ragctl.errors import UsageError

if TYPE_CHECKING:
    from ragctl.cli.output import Output
    from ragctl.db.answer_cache import StoredAnswers
    from ragctl.db.traces import Traces
    from ragctl.setting_sections import TracesSettings


def purge_older(
    traces: Traces,
    answers: StoredAnswers,
    output: Output,
    *,
    now: datetime,
    age: timedelta | None,
    texts_alone: bool,
    yes: bool,
) -> None:
    """Remove the traces older than an age, all for ``None``, or take their texts alone.

    Cached answers as old go with them: they hold the same texts.
    """
    moment = now if age is None else _before(now, age)
    count, with_texts = traces.count_before(moment)
    which = "" if age is None else f" from before {moment:%Y-%m-%d %H:%M}"
    cached = answers.count_before(moment)
    what = f"the texts of {_traces(with_texts)}" if texts_alone else _traces(count)
    question = f"Remove {what}{_and_answers(cached)}{which}?"
    if not _agreed(question, (with_texts if texts_alone else count) + cached, output, yes):
        return
    if texts_alone:
        output.line(f"removed the texts of {_traces(traces.empty_before(moment))}")
    else:
        output.line(f"removed {_traces(traces.remove_before(moment))}")
    _remove_answers(answers, moment, output)


def purge_by_settings(
    traces: Traces,
    answers: StoredAnswers,
    settings: TracesSettings,
    output: Output,
    *,
    now: datetime,
    texts_alone: bool,
    yes: bool,
) -> None:
    """Remove the traces that are older than the settings keep them, and the texts of others.

    Cached answers that are older than texts are kept go too.
    """
    kept = None if texts_alone else _kept_since(now, settings.keep_days)
    texts_kept = _kept_since(now, settings.keep_text_days)
    text_limit = max((one for one in (kept, texts_kept) if one), default=None)
    cached = answers.count_before(text_limit) if text_limit else 0
    removed = traces.count_before(kept) if kept else (0, 0)
    with_texts = traces.count_before(texts_kept)[1] if texts_kept else 0
    emptied = max(with_texts - removed[1], 0)
    question = (
        f"Remove {_traces(removed[0])}, and the texts of {emptied:,} more{_and_answers(cached)}?"
    )
    if texts_alone:
        question = f"Remove the texts of {_traces(emptied)}{_and_answers(cached)}?"
    if not _agreed(question, removed[0] + emptied + cached, output, yes):
        return
    if kept:
        output.line(f"removed {_traces(traces.remove_before(kept))}")
    if texts_kept:
        output.line(f"removed the texts of {_traces(traces.empty_before(texts_kept))}")
    if text_limit:
        _remove_answers(answers, text_limit, output)


def _remove_answers(answers: StoredAnswers, moment: datetime, output: Output) -> None:
    removed = answers.remove_before(moment)
    if removed:
        output.line(f"removed {counted(removed, 'cached answer')}")


def _and_answers(count: int) -> str:
    return f" and {counted(count, 'cached answer')}" if count else ""


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
