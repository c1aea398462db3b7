"""``ragctl open``: a source of the last answer, in the browser."""

from __future__ import annotations

import os
import re
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.trace import find_trace
from ragctl.errors import ContentError, UsageError
from ragctl.stages.links import link_to

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.answers import Citation
    from ragctl.records.links import LinkStyle
    from ragctl.records.traces import Trace
    from ragctl.settings import Settings

_NEWEST = 50

app = options.command_app("Open a source of the last answer in the browser.")


@app.command(name="open", epilog="Examples: ragctl open 1 | ragctl open 1 --print")
def open_(
    number: Annotated[
        int, typer.Argument(metavar="N", help="The number of the source, as it was printed.")
    ],
    trace: Annotated[
        str | None,
        typer.Option(
            "--trace", metavar="ID", help="Of this answer instead of the last: see ragctl trace."
        ),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print the link and open nothing.")
    ] = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Open a source of the last answer in the browser, by the number it was printed with.

    Where the address of the site is not known (site.base_url), it prints the file of the page.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        root = database.site.content_root()
        found = find_trace(database, trace) if trace else _last_answer(database, settings)
    source = _source(found, number)
    link = web_link(source, wiring.link_style(settings))
    if link is None:
        _show_file(source, root, output)
    elif only_print:
        output.line(link)
    else:
        _open(link, output)


def _last_answer(database: Database, settings: Settings) -> Trace:
    """Return the newest question that got an answer."""
    is_off = settings.traces.record == "off"
    for trace in database.traces.recent(at_most=_NEWEST):
        if trace.error_code is None and not is_off:
            return trace
    if is_off:
        raise ContentError(
            "answers are not recorded (traces.record is off)",
            hint="Set traces.record to on or numbers, or name an older one with --trace ID.",
        )
    raise ContentError("no answer was recorded yet", hint='Ask something: ragctl ask "..."')


def _source(trace: Trace, number: int) -> Citation:
    """Return the source with a number; a source that stands for several has several."""
    numbers: dict[int, Citation] = {}
    for citation in trace.citations:
        for n in citation.passages or (citation.n,):
            numbers.setdefault(n, citation)
    if number in numbers:
        return numbers[number]
    asked = f" to “{' '.join(trace.question.split())[:60]}”" if trace.question else ""
    if not numbers:
        raise UsageError(f"the answer{asked} has no sources", hint="See `ragctl trace`.")
    listed = ", ".join(f"{n} {numbers[n].title}" for n in sorted(numbers))
    raise UsageError(
        f"the answer{asked} has no source {number}", hint=harmless(f"There are: {listed}.")
    )


def web_link(citation: Citation, links: LinkStyle) -> str | None:
    """Return the address of a source on the web, ``None`` where the site has none.

    The one that was printed, else by the settings in force. What is stored may come from others'
    hands: only ``http`` and ``https`` are addresses, without a user, blanks, control characters and
    what a shell or a browser might take for an end.
    """
    again = link_to(links, citation.url, citation.source_path, citation.anchor)
    for link in (citation.link, again):
        if _is_web_address(link):
            return link
    return None


def _is_web_address(link: str) -> bool:
    try:
        parts = urlsplit(link)
    except ValueError:  # brackets that hold no address
        return False
    is_plain = link.isprintable() and not re.search(r'[\s\\"<>`]', link)
    has_host = bool(parts.netloc) and "@" not in parts.netloc
    return is_plain and has_host and parts.scheme in ("http", "https")


def _open(link: str, output: Output) -> None:
    output.remark(f"Opening {link}")
    try:
        is_open = webbrowser.open(link)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        raise UsageError(
            "no browser can be started here", hint=f"Open {link} yourself, or set BROWSER."
        )


def _show_file(citation: Citation, root: str | None, output: Output) -> None:
    """Print the path of a source's file, and say which setting would make it a link."""
    path = file_below(root, citation.source_path)
    if path is None:
        raise ContentError(
            f"{citation.source_path} is not below the content folder on this disk",
            hint="Set site.base_url to the address of the site: then it is a link.",
        )
    output.line(str(path))
    output.remark(
        "No address of the site is set, so this is the page's file. To open it in the browser: "
        "ragctl config set site.base_url https://your.site"
    )


def file_below(root: str | None, source_path: str) -> Path | None:
    """Return the file of a page, ``None`` where it is not there or not below the content root."""
    if root is None:
        return None
    folder = Path(root).resolve()
    path = (folder / source_path).resolve()
    return path if path.is_relative_to(folder) and path.is_file() else None
