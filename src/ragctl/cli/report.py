"""``ragctl report``: what ``ragctl stats`` shows, as one page of HTML."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl import wiring
from ragctl.artifacts.storage import write_bytes
from ragctl.cli import options
from ragctl.cli.output import Output
from ragctl.cli.report_page import Report, page_of
from ragctl.cli.stats_data import (
    drift_found,
    gaps_found,
    models_of,
    overview_of,
    period_of,
    prices_of,
    usage_of,
)
from ragctl.errors import UsageError
from ragctl.observe.cost import costs_by_route

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.signals import Period
    from ragctl.settings import Settings

app = options.command_app("Write the signals, drift, gaps and cost as one page of HTML.")


@app.command(epilog="Example: ragctl report signals.html --since 28d")
def report(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; its folder must be there.")
    ],
    since: options.Since = "28d",
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Write the signals, drift, gaps and cost as one page that needs no network and no scripts.

    It holds questions that were asked, where their texts are kept.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    if file.exists() and not force:
        raise UsageError(
            f"{file} is there already", hint="Give another name, or --force to replace it."
        )
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is no folder", hint="Make it, or give another place.")
    with wiring.open_database(settings) as database:
        page = page_of(_report(database, settings, period_of(since)))
    write_bytes(file, page.encode())
    output.line(f"wrote {file}")


def _report(database: Database, settings: Settings, period: Period) -> Report:
    overview = overview_of(database, period)
    groups = tuple(
        (
            by,
            tuple(
                database.signals.groups(
                    period,
                    by=by,
                    embedding_model=overview.embedding_model,
                    models=models_of(settings),
                )
            ),
        )
        for by in ("track", "route", "model")
    )
    return Report(
        site=settings.site.name,
        made_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        overview=overview,
        groups=groups,
        drift=drift_found(database, period),
        gaps=gaps_found(database, period),
        costs=costs_by_route(usage_of(database, period), prices_of(settings)),
    )
