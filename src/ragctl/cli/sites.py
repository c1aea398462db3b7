"""``ragctl sites``: the sites on the embedded server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.completion import complete_sites
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.errors import ContentError, UsageError

if TYPE_CHECKING:
    from ragctl.records.stored import SiteSummary

app = options.command_app("List the sites on the embedded server, or remove one.")


@app.callback(invoke_without_command=True, epilog="Example: ragctl sites")
def sites(ctx: typer.Context, json: options.Json = False, debug: options.Debug = False) -> None:
    """List the sites on the embedded server: root, pages, passages, model, size."""
    if ctx.invoked_subcommand is not None:
        return
    output = Output(environ=os.environ)
    found = _sites()
    if json:
        output.json({"schema": "ragctl.sites/1", "sites": [_document(site) for site in found]})
        return
    if not found:
        output.remark("There is no site yet. Begin with: ragctl ingest PATH, or ragctl demo")
        return
    table = new_table("site", "pages", "passages", "size", "model", "root", text_columns=(0, 4, 5))
    for site in found:
        table.add_row(
            site.name,
            "-" if site.unread else f"{site.pages:,}",
            "-" if site.unread else f"{site.passages:,}",
            _size(site.size_bytes),
            site.model or "-",
            Text(harmless(_root(site))),
        )
    if output.fits(table):
        output.table(table)
    else:
        for site in found:
            output.line(f"{site.name}: pages {site.pages:,}, passages {site.passages:,}")
            output.line(f"    {site.model or 'no model'}, {_size(site.size_bytes)}")
            output.line(f"    {_root(site)}")
    for site in found:
        if site.unread:
            output.remark(
                f"Site {site.name} was {site.unread}: ragctl db migrate --site {site.name}"
            )


@app.command(epilog="Example: ragctl sites remove demo --yes")
def remove(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The site to remove.", autocompletion=complete_sites),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    debug: options.Debug = False,
) -> None:
    """Remove a site's database with all that is in it; the site's files stay."""
    output = Output(environ=os.environ)
    found = {site.name: site for site in _sites()}
    if name not in found:
        raise ContentError(
            f"there is no site {name!r}", hint=f"Sites: {', '.join(found) or 'none yet'}."
        )
    site = found[name]
    if not yes:
        held = f"{site.pages:,} pages and {site.passages:,} passages"
        if site.unread:
            held = f"{_size(site.size_bytes)}, {site.unread}"
        question = f"Remove site {name} with {held}?"
        if not os.isatty(0):
            raise UsageError(f"{question[:-1]}: nobody is there to ask", hint="Give --yes.")
        typer.confirm(question, abort=True)
    wiring.remove_site(wiring.load_settings({"site.name": name}))
    output.line(f"removed {name}")


def _sites() -> list[SiteSummary]:
    return wiring.list_sites(wiring.load_settings({}))


def _root(site: SiteSummary) -> str:
    return site.unread or site.content_root or "nothing ingested"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.0f} MB"


def _document(site: SiteSummary) -> dict[str, object]:
    return {
        "name": site.name,
        "root": site.content_root or "",
        "pages": site.pages,
        "passages": site.passages,
        "model": site.model or "",
        "ingested_at": site.ingested_at.isoformat() if site.ingested_at else "",
        "size_bytes": site.size_bytes,
        "unread": site.unread,
    }
