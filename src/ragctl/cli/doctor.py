"""``ragctl doctor``: what works here, what does not, and what to type."""

from __future__ import annotations

import os
from pathlib import Path

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.doctor import Check, examine
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS

MARKS = {"pass": ("ok  ", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}

app = options.command_app("Look at what ragctl needs here, and say what to mend.")


@app.command(epilog="Example: ragctl doctor --json")
def doctor(
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
    if json:
        output.json({"schema": "ragctl.doctor/1", "checks": [_document(check) for check in checks]})
    else:
        _show(checks, output)
    failed = any(check.outcome == "fail" for check in checks)
    raise typer.Exit(EXIT_FINDINGS if failed else EXIT_DONE)


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
