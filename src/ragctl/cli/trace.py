"""``ragctl trace``: what became of the questions that were asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer
from rich.text import Text
from typer.core import TyperCommand

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.cli.trace_documents import trace_summary
from ragctl.cli.trace_export import export_traces
from ragctl.cli.trace_purge import purge_by_settings, purge_older
from ragctl.cli.trace_show import asked_when, milliseconds, one_line, show_trace
from ragctl.errors import ContentError, UsageError
from ragctl.observe.moments import duration, moment
from ragctl.observe.traces import outcome_of
from ragctl.records.traces import Trace, TraceFilter
from ragctl.wiring.caching import stored_answers

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.settings import Settings

SHORT_ID = 13  # the milliseconds of a UUIDv7

app = options.command_app("Show what became of a question: passages, prompt, answer, time.")

WithPrompt = Annotated[bool, typer.Option("--prompt", help="Print the exact prompt too.")]
Newest = Annotated[
    int,
    typer.Option("-n", "--limit", metavar="N", min=1, max=10_000, help="How many, newest first."),
]


@app.callback(
    invoke_without_command=True,
    epilog="Examples: ragctl trace | ragctl trace last | ragctl trace show 0199a3c1-2b3f --prompt",
)
def trace(
    ctx: typer.Context,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the newest questions that were asked, or show one: when, how, from what, how long."""
    if ctx.invoked_subcommand is None:
        _list(_settings(site, database_url), TraceFilter(), newest=20, as_json=json)


@app.command(epilog="Example: ragctl trace last --prompt")
def last(
    prompt: WithPrompt = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show the newest question that was asked."""
    with wiring.open_database(_settings(site, database_url)) as database:
        found = find_trace(database, "last")
    show_trace(found, as_json=json, with_prompt=prompt)


@app.command(epilog="Example: ragctl trace show 0199a3c1-2b3f")
def show(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="The trace's id, or its first characters.")
    ],
    prompt: WithPrompt = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show one question: when, route, models, time by phase, passages, answer, problems."""
    with wiring.open_database(_settings(site, database_url)) as database:
        found = find_trace(database, identity)
    show_trace(found, as_json=json, with_prompt=prompt)


def find_trace(database: Database, identity: str) -> Trace:
    """Return the trace of an id, of its first characters, or the newest one for ``last``.

    Raises :class:`~ragctl.errors.ContentError` where nothing was recorded yet, else
    :class:`~ragctl.errors.UsageError` where none or several fit.
    """
    prefix = identity.strip().lower()
    if prefix == "last":
        newest = database.traces.recent(at_most=1)
        if not newest:
            raise ContentError("no question was recorded yet", hint='Ask one: ragctl ask "..."')
        return newest[0]
    found = database.traces.beginning_with(prefix, at_most=5) if prefix else []
    if not found:
        raise UsageError(
            f"there is no trace {identity!r}", hint="List them with `ragctl trace list`."
        )
    if len(found) > 1:
        raise UsageError(
            f"several traces begin with {identity!r}",
            hint="One of: " + ", ".join(candidate.id for candidate in found),
        )
    return found[0]


class _WithBareSlow(TyperCommand):
    """Lets ``--slow`` stand without a value: typer knows no option that may."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write a bare ``--slow`` as one with an empty value."""
        following = [*args[1:], ""]
        return super().parse_args(
            ctx,
            [
                "--slow=" if arg == "--slow" and not after[:1].isdigit() else arg
                for arg, after in zip(args, following, strict=False)
            ],
        )


@app.command(
    name="list",
    cls=_WithBareSlow,
    epilog="Examples: ragctl trace list -n 50 | ragctl trace list --slow --failed --since 7d",
)
def list_(
    newest: Newest = 20,
    slow: Annotated[
        str | None,
        typer.Option(
            "--slow",
            metavar="[MS]",
            help="Answers that took longer than MS milliseconds; alone, than `traces.slow_ms`.",
        ),
    ] = None,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Answers in which a problem was found.")
    ] = False,
    refused: Annotated[
        bool, typer.Option("--refused", help="Answers that say the site does not tell.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Questions without an answer, or with a torn one.")
    ] = False,
    since: options.SinceIfGiven = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the newest questions, a line each; of several kinds asked for, those of any."""
    settings = _settings(site, database_url)
    wanted = TraceFilter(
        since=_since(since),
        slow_ms=_slow_ms(slow, settings),
        flagged=flagged,
        refused=refused,
        failed=failed,
    )
    _list(settings, wanted, newest=newest, as_json=json)


@app.command(
    epilog="Examples: ragctl trace export --since 7d --output traces.jsonl | "
    "ragctl trace export --format otlp-json"
)
def export(
    since: options.SinceIfGiven = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            click_type=click.Choice(["jsonl", "otlp-json"]),
            help="jsonl: all that is kept; otlp-json: spans for OpenTelemetry, without texts.",
        ),
    ] = "jsonl",
    file: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write here and not to standard output."),
    ] = None,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Print all traces, one JSON document a line, the newest first."""
    wanted = TraceFilter(since=_since(since))
    with wiring.open_database(_settings(site, database_url)) as database:
        export_traces(database.traces.each(wanted), form=form, file=file)


@app.command(epilog="Examples: ragctl trace purge | ragctl trace purge --older-than 30d --texts")
def purge(
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Those older than 12h, 30d or 8w."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Only their questions, prompts and answers.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All of them, however new.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Remove old traces, or their texts alone: without an age, what the settings say is too old."""
    if older_than is not None and everything:
        raise UsageError("--older-than and --all exclude each other", hint="Give one of them.")
    settings, output, now = _settings(site, database_url), Output(environ=os.environ), _now()
    with wiring.open_database(settings) as database:
        answers = stored_answers(settings, database)
        if older_than is None and not everything:
            purge_by_settings(
                database.traces,
                answers,
                settings.traces,
                output,
                now=now,
                texts_alone=texts,
                yes=yes,
            )
            return
        age = None if older_than is None else duration(older_than, option="--older-than")
        purge_older(database.traces, answers, output, now=now, age=age, texts_alone=texts, yes=yes)


def _now() -> datetime:
    return datetime.now().astimezone()


def _since(text: str | None) -> datetime | None:
    return None if text is None else moment(text, now=_now(), option="--since")


def _slow_ms(text: str | None, settings: Settings) -> float | None:
    if text is None:
        return None
    try:
        return float(text) if text else settings.traces.slow_ms
    except ValueError:
        raise UsageError(
            f"--slow {text!r} is no number of milliseconds", hint="For example: --slow 5000"
        ) from None


def _settings(site: str | None, database_url: str | None) -> Settings:
    return wiring.load_settings({"site.name": site, "database.url": database_url})


def _list(settings: Settings, wanted: TraceFilter, *, newest: int, as_json: bool) -> None:
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        found = database.traces.matching(wanted, at_most=newest)
    if as_json:
        output.json(
            {"schema": "ragctl.traces/1", "traces": [trace_summary(trace) for trace in found]}
        )
        return
    if not found:
        none = 'No question was recorded yet. Ask one: ragctl ask "..."'
        output.remark(none if wanted == TraceFilter() else "No such question was recorded.")
        return
    length = _telling_length([trace.id for trace in found])
    table = new_table("when", "id", "outcome", "ms", "question", text_columns=(0, 1, 2, 4))
    for trace in found:
        table.add_row(
            asked_when(trace),
            trace.id[:length],
            outcome_of(trace),
            milliseconds(trace.timings.total),
            Text(harmless(one_line(trace.question))),
        )
    if output.fits(table):
        output.table(table)
        return
    for trace in found:
        output.line(f"{asked_when(trace)}  {trace.id[:length]}  {outcome_of(trace)}")
        output.line(f"    {one_line(trace.question)}")


def _telling_length(identities: Sequence[str]) -> int:
    """Return how many characters tell these ids apart."""
    return next(
        length
        for length in range(SHORT_ID, 37)
        if len({identity[:length] for identity in identities}) == len(identities) or length == 36
    )
