"""``ragctl feedback``: what readers say of answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted
from ragctl.errors import ContentError, UsageError
from ragctl.observe.signals import share
from ragctl.records.feedback import Feedback

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.traces import Trace

_SHORT_ID = 13  # the milliseconds of a UUIDv7

app = options.command_app("Say whether an answer was good, and list what was said.")


@app.command(
    epilog='Examples: ragctl feedback last --good | ragctl feedback last --bad --note "old page" | '
    "ragctl feedback --list"
)
def feedback(
    identity: Annotated[
        str | None,
        typer.Argument(
            metavar="[last|ID]", help="The newest answer, or one by its trace's first characters."
        ),
    ] = None,
    good: Annotated[
        bool | None, typer.Option("--good/--bad", help="The answer was right, or it was not.")
    ] = None,
    note: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="What was good or bad about it.")
    ] = "",
    list_: Annotated[
        bool, typer.Option("--list", help="List what was said, newest first.")
    ] = False,
    newest: Annotated[
        int, typer.Option("-n", metavar="N", min=1, max=10_000, help="How many to list.")
    ] = 20,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Say of an answer whether it was good, in the place of what was said of it before.

    It is counted in `ragctl stats`, and `ragctl eval from-feedback` makes questions of it.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    if list_:
        with wiring.open_database(settings) as database:
            found = database.feedback.newest(at_most=newest)
        _list(found, output, as_json=json)
        return
    if identity is None or good is None:
        raise UsageError(
            "say which answer, and whether it was good",
            hint="For example: ragctl feedback last --good, or --list for what was said.",
        )
    with wiring.open_database(settings) as database:
        trace = _trace(database, identity.strip().lower())
        said = Feedback(trace_id=trace.id, good=good, note=note.strip(), at=datetime.now(UTC))
        database.feedback.store(said)
    if json:
        output.json({"schema": "ragctl.feedback/1", **_document(said, trace.question)})
    else:
        question = " ".join((trace.question or trace.id).split())
        output.line(f"{_word(said)}: {question}")


def _trace(database: Database, identity: str) -> Trace:
    if identity == "last":
        found = database.traces.recent(at_most=1)
        if not found:
            raise ContentError("no question was recorded yet", hint='Ask one: ragctl ask "..."')
        return found[0]
    found = database.traces.beginning_with(identity, at_most=2) if identity else []
    if len(found) != 1:
        what = "several traces begin with" if found else "there is no trace"
        raise UsageError(f"{what} {identity!r}", hint="List them with `ragctl trace list`.")
    return found[0]


def _list(found: Sequence[Feedback], output: Output, *, as_json: bool) -> None:
    good = sum(one.good for one in found)
    if as_json:
        listed = [_document(one, one.question) for one in found]
        counts = {"good": good, "bad": len(found) - good}
        output.json({"schema": "ragctl.feedback_list/1", **counts, "feedback": listed})
        return
    if not found:
        output.remark("Nothing was said yet. `ragctl feedback last --good` says it.")
        return
    for one in found:
        head = f"{one.at.astimezone():%Y-%m-%d %H:%M}  {one.trace_id[:_SHORT_ID]}  {_word(one)}"
        output.line(Text(head, style="green" if one.good else "red"))
        output.line(f"    {' '.join((one.question or '(text not kept)').split())}")
        if one.note:
            output.line(f"    note: {harmless(' '.join(one.note.split()))}")
    share_of_good = share(good, len(found)) or 0.0
    output.remark(f"{counted(len(found), 'answer')}, {share_of_good:.0%} of them good.")


def _word(said: Feedback) -> str:
    return "good" if said.good else "bad"


def _document(said: Feedback, question: str | None) -> dict[str, object]:
    return {
        "trace_id": said.trace_id,
        "good": said.good,
        "note": said.note,
        "at": said.at.isoformat(),
        "question": question,
    }
