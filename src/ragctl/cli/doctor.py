"""``ragctl doctor``: what works here, what does not, and what to type."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.links import check_links, links_document, show_link_report
from ragctl.cli.output import Output, harmless
from ragctl.doctor import Check, examine
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS

if TYPE_CHECKING:
    from ragctl.cli.documents import Document

MARKS = {"pass": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}

app = options.command_app("Look at what ragctl needs here, and say what to mend.")


@app.command(epilog="Example: ragctl doctor --json")
def doctor(
    links: Annotated[
        Path | None,
        typer.Option(
            "--links", metavar="DIST", help="Also follow every link on the built site in DIST."
        ),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Check database, models, index, site and settings; exit 1 when something needed is broken.

    Nothing is changed. Each finding comes with what mends it.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    checks = examine(settings, environ=os.environ, folder=Path.cwd())
    output = Output(environ=os.environ)
    report = check_links(settings, links) if links is not None else None
    if json:
        document: Document = {
            "schema": "ragctl.doctor/1",
            "checks": [_document(check) for check in checks],
        }
        if report is not None:
            document["links"] = links_document(report)
        output.json(document)
    else:
        _show(checks, output)
        if report is not None:
            show_link_report(report, output)
    failed = any(check.outcome == "fail" for check in checks)
    dead = report is not None and bool(report.dead)
    raise typer.Exit(EXIT_FINDINGS if failed or dead else EXIT_DONE)


def _show(checks: tuple[Check, ...], output: Output) -> None:
    for check in checks:
        mark, style = MARKS[check.outcome]
        output.line(Text.assemble((mark, style), f" {check.name}: ", harmless(check.message)))
        if check.fix:
            output.line(f"     -> {check.fix}")


def _document(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "outcome": check.outcome,
        "message": check.message,
        "fix": check.fix,
    }
