"""``ragctl audit``: whether what is stored is what it should be."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.audit.passages import CLASSES, LONGEST, SHORTEST, Finding, audit_page
from ragctl.cli import options
from ragctl.cli.audit_ledger import examine_ledger, ledger_document, show_ledger
from ragctl.cli.completion import complete_tracks
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.cli.sources import require_known_tracks
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.stored import StoredPage
    from ragctl.settings import Settings

app = options.command_app("Check that what is stored is what it should be.", is_group=False)


@app.callback(invoke_without_command=True, epilog="Example: ragctl audit --track design")
def audit(
    ctx: typer.Context,
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="TRACK",
            help="Only the pages of this track.",
            autocompletion=complete_tracks,
        ),
    ] = None,
    ranks: Annotated[
        bool, typer.Option("--ranks/--no-ranks", help="Find each page by its own title.")
    ] = True,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show the ledger: a line a page, from bytes on disk to passages stored; exit 1 on a zero.

    Pages with a zero come first, then files that are not stored and pages whose file is gone.
    The rank says how well a page is found by its own title; it is reported, not judged.
    """
    if ctx.invoked_subcommand is not None:
        return
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        require_known_tracks(database.pages.tracks(), (track,) if track else ())
        ledger = examine_ledger(database, settings, track=track, with_ranks=ranks)
    if json:
        output.json(ledger_document(ledger))
    else:
        show_ledger(ledger, output)
    raise typer.Exit(EXIT_FINDINGS if ledger.findings else EXIT_DONE)


@app.command(epilog="Example: ragctl audit passages --track design --limit 10")
def passages(
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="TRACK",
            help="Only the pages of this track.",
            autocompletion=complete_tracks,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="Examples shown of each class.")
    ] = 3,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Count what is wrong with the stored passages, by class; exit 1 unless all counts are zero.

    Pages are read again by code of its own, which neither parses nor cuts. Source files are
    compared where they are still those that were ingested.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        require_known_tracks(database.pages.tracks(), (track,) if track else ())
        report = _Report(size=_size(database, settings), limit=limit)
        root = database.site.content_root()
        for page in database.pages.all(track=track):
            _audit(database, page, root, report)
    if json:
        output.json(_document(report))
    else:
        _show(report, output)
    raise typer.Exit(EXIT_FINDINGS if report.counts.total() else EXIT_DONE)


@dataclass(slots=True, kw_only=True)
class _Report:
    """What was found so far; of each class the first ``limit`` findings are kept."""

    size: int
    limit: int
    pages: int = 0
    passages: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[Finding]] = field(default_factory=dict)
    removed: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)

    def add(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self.counts[finding.kind] += 1
            kept = self.examples.setdefault(finding.kind, [])
            if len(kept) < self.limit:
                kept.append(finding)


def _size(database: Database, settings: Settings) -> int:
    """Return the size that the stored passages were cut to, which settings may have left behind."""
    recorded = database.identity.load()
    size = recorded.chunker_parameters.get("size") if recorded else None
    return size if isinstance(size, int) else settings.chunking.size


def _audit(database: Database, page: StoredPage, root: str | None, report: _Report) -> None:
    text = database.pages.text(page.url)
    if text is None:
        return  # removed by an ingest that runs now
    stored = [passage.chunk for passage in database.chunks.of_page(page.id)]
    found = audit_page(text, stored, source=_bytes(root, page.source_path), size=report.size)
    report.pages += 1
    report.passages += len(stored)
    report.removed += found.removed
    report.sources[found.source] += 1
    report.add(found.findings)


def _bytes(root: str | None, source_path: str) -> bytes | None:
    if root is None or source_path.lower().endswith(".pdf"):
        return None  # of a PDF there are no lines to compare
    try:
        return (Path(root) / source_path).read_bytes()
    except OSError:
        return None


def _document(report: _Report) -> dict[str, object]:
    return {
        "schema": "ragctl.audit_passages/1",
        "pages": report.pages,
        "passages": report.passages,
        "size": {
            "wanted": report.size,
            "longest": int(report.size * LONGEST),
            "shortest": int(report.size * SHORTEST),
        },
        "sources": {state: report.sources[state] for state in ("compared", "changed", "missing")},
        "removed_lines": dict(sorted(report.removed.items())),
        "findings": report.counts.total(),
        "classes": [
            {
                "class": kind,
                "about": about,
                "count": report.counts[kind],
                "examples": [
                    {"place": finding.place, "why": finding.why}
                    for finding in report.examples.get(kind, ())
                ],
            }
            for kind, about in CLASSES.items()
        ],
    }


def _show(report: _Report, output: Output) -> None:
    table = new_table("class", "count", "examples", text_columns=(0, 2))
    for kind, about in CLASSES.items():
        examples = "\n".join(
            f"{finding.place}  {finding.why}" for finding in report.examples.get(kind, ())
        )
        count = report.counts[kind]
        style = "red" if count else "green"
        table.add_row(about, Text(f"{count:,}", style=style), Text(harmless(examples)))
    output.table(table)
    output.line()
    output.line(f"{report.pages:,} pages, {report.passages:,} passages")
    if report.removed:
        counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.removed.items()))
        output.line(f"source lines left out for a reason: {counted}")
    for state, why in (("changed", "changed since the ingest"), ("missing", "not on this disk")):
        if count := report.sources[state]:
            files = "1 source file" if count == 1 else f"{count:,} source files"
            output.remark(f"{files} {why}: not compared.", style="yellow")
