"""``ragctl links``: whether the links of answers land on the built site."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, ContentError, UsageError
from ragctl.link_check import follow_links

if TYPE_CHECKING:
    from ragctl.cli.documents import Document
    from ragctl.db.database import Database
    from ragctl.records.links import DeadLink, LinkReport
    from ragctl.settings import Settings

app = options.command_app("Check that every link lands on the built site.")


@app.command(epilog="Example: ragctl links website/dist")
def links(
    dist: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIST]",
            help="The folder of the built site's HTML; default: the setting site.dist.",
        ),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Follow every stored link, of pages and of sections, on the built site.

    Lists the links whose page or heading is not there, with what is there instead, and then ends
    with exit code 1.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    if dist is None and not settings.site.dist:
        raise UsageError(
            "no built site given",
            hint="Name the folder of its HTML: ragctl links website/dist, or set site.dist.",
        )
    report = check_links(settings, dist or Path(settings.site.dist))
    output = Output(environ=os.environ)
    if json:
        output.json(links_document(report))
    else:
        show_link_report(report, output)
    raise typer.Exit(EXIT_FINDINGS if report.dead else EXIT_DONE)


def check_links(settings: Settings, dist: Path) -> LinkReport:
    """Follow every link of the site's database on the built site, and store nothing."""
    with wiring.open_database(settings) as database:
        stored = database.pages.links()
    return follow_links(stored, dist, style=wiring.link_style(settings))


def check_after_ingest(settings: Settings, database: Database, output: Output) -> None:
    """Check the links where ``site.dist`` is set, store the result, and say it.

    A built site that is not there fails no ingest: that is said, and the links count as not
    checked.
    """
    report: LinkReport | None = None
    if settings.site.dist:
        try:
            style = wiring.link_style(settings)
            report = follow_links(database.pages.links(), Path(settings.site.dist), style=style)
        except ContentError as error:
            output.remark(f"Links were not checked: {error.message} (site.dist)", style="yellow")
    dead = None if report is None else report.dead
    pages = None if dead is None else [link.url for link in dead if link.anchor is None]
    sections = None if dead is None else [(link.url, link.anchor) for link in dead if link.anchor]
    with database.transaction():
        database.pages.mark_links(dead=pages)
        database.chunks.mark_links(dead=sections)
    if report is not None:
        advice = " `ragctl links` lists them." if report.dead else ""
        output.remark(f"{_counted(report)}.{advice}", style="yellow" if report.dead else "")


def show_link_report(report: LinkReport, output: Output) -> None:
    """Print the links that do not land, a missing page once, and how many were checked."""
    missing = [link for link in report.dead if link.fault == "page missing"]
    for link in report.dead:
        if link.fault != "page missing":
            output.line(_described(link, link.fault, hint=_there(link)))
        elif link.anchor is None:
            sections = sum(other.url == link.url for other in missing) - 1
            fault = f"page missing, with {_plural(sections, 'section')}" if sections else link.fault
            output.line(_described(link, fault, hint=link.hint))
    output.remark(f"{_counted(report)}.")


def _there(link: DeadLink) -> str:
    if link.hint and link.fault == "other heading":
        return f"the section is at {link.hint}"
    return f"did you mean {link.hint}?" if link.hint else ""


def _described(link: DeadLink, fault: str, *, hint: str) -> Text:
    shown = Text.assemble((harmless(link.link), "bold"), "  ", (harmless(fault), "red"))
    if link.section:
        shown.append(f"  {harmless(link.section)}")
    if hint:
        shown.append(f"  ({harmless(hint)})", style="dim")
    return shown


def _counted(report: LinkReport) -> str:
    dead = f"{len(report.dead):,} do not land" if report.dead else "all land"
    return f"{_plural(report.checked, 'link')} checked against {report.dist}, {dead}"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def links_document(report: LinkReport) -> Document:
    """Return ``ragctl.links/1``."""
    return {
        "schema": "ragctl.links/1",
        "dist": report.dist,
        "checked": report.checked,
        "dead": [
            {
                "url": link.url,
                "anchor": link.anchor or "",
                "section": link.section or "",
                "link": link.link,
                "fault": link.fault,
                "hint": link.hint,
                "source_path": link.source_path,
            }
            for link in report.dead
        ],
    }
