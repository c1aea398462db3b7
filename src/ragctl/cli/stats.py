"""``ragctl stats``: how the site does for those who ask it, and what has changed.

A command of the group is a function in a module of its own; here is its name and its example.
"""

from __future__ import annotations

import os
from typing import Annotated

import click
import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output
from ragctl.cli.stats_cost import cost
from ragctl.cli.stats_data import models_of, overview_of, period_of
from ragctl.cli.stats_drift import drift
from ragctl.cli.stats_gaps import gaps
from ragctl.cli.stats_overview import (
    overview_document,
    rows_document,
    show_check,
    show_overview,
    show_rows,
)
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, UsageError

app = options.command_app("Show how the site does for those who ask it, and what has changed.")

By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        click_type=click.Choice(["day", "track", "route", "model"]),
        help="A row a day, track, route or model that wrote, instead of the overview.",
    ),
]


@app.callback(
    invoke_without_command=True,
    epilog="Examples: ragctl stats | ragctl stats --since 4w --by track | "
    "ragctl stats --check --since 1d",
)
def stats(
    ctx: typer.Context,
    since: options.Since = "7d",
    by: By = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Say only what left its band for the worse, on standard error; exit code 1 then.",
        ),
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show every signal: its value, its days, its normal band, and what left it.

    The band comes from the 28 days before. Days are those of UTC.
    """
    if ctx.invoked_subcommand is not None:
        return
    if check and by is not None:
        raise UsageError("--check and --by do not go together", hint="Leave one of them out.")
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    period = period_of(since)
    with wiring.open_database(settings) as database:
        if by in ("track", "route", "model"):
            rows = database.signals.groups(
                period,
                by=by,
                embedding_model=database.signals.embedding_model(),
                models=models_of(settings),
            )
        else:
            found = overview_of(database, period)
            rows = list(found.days)
    if by is not None:
        if json:
            output.json(rows_document(rows, by=by, period=period))
        else:
            show_rows(rows, by=by, output=output)
        return
    if json:
        output.json(overview_document(found))
    elif not check:
        show_overview(found, output)
    if check:
        has_alarms = show_check(found, output)
        raise typer.Exit(EXIT_FINDINGS if has_alarms else EXIT_DONE)


app.command(epilog="Example: ragctl stats drift --since 4w")(drift)
app.command(epilog="Example: ragctl stats gaps --since 4w")(gaps)
app.command(epilog="Examples: ragctl stats cost --since 4w | ragctl stats cost --what-if 2,10")(
    cost
)
