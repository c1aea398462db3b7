"""``ragctl sources``: what is in the database."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.completion import complete_tracks
from ragctl.cli.documents import sources_document
from ragctl.cli.output import Output
from ragctl.cli.render import show_pages, track_totals
from ragctl.errors import UsageError
from ragctl.stages.links import address_of

if TYPE_CHECKING:
    from ragctl.records.stored import StoredPage
    from ragctl.settings import Settings

app = options.command_app("List the pages that are in the database.")


@app.command(
    epilog='Examples: ragctl sources --track design | ragctl sources --about "consistent hashing"',
)
def sources(
    track: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="TRACK",
            help="Only the pages of this track.",
            autocompletion=complete_tracks,
        ),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            "--about",
            metavar="TOPIC",
            help="The pages that speak of a topic instead, best first, with their sections.",
        ),
    ] = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            "-k", metavar="N", min=1, max=100, help="--about: at most so many pages; default: 10."
        ),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the pages in the database in reading order, with passages and words by track.

    With --about, list the pages whose passages speak of a topic, as `ragctl search` finds them.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    if about is not None:
        _list_about(about, settings, output, track=track, at_most=at_most, as_json=json)
        return
    if at_most is not None:
        raise UsageError("-k belongs to --about", hint='ragctl sources --about "hashing" -k 3')
    with wiring.open_database(settings) as database:
        require_known_tracks(database.pages.tracks(), (track,) if track else ())
        pages = database.pages.all(track=track)
        root = database.site.content_root()
    links = wiring.link_style(settings)
    if json:
        output.json(sources_document(pages, links=links))
        return
    show_pages(pages, output, links=links, root=root)
    output.line()
    output.table(track_totals(pages))


def _list_about(
    topic: str,
    settings: Settings,
    output: Output,
    *,
    track: str | None,
    at_most: int | None,
    as_json: bool,
) -> None:
    from ragctl.cli.about import PAGES_SHOWN, show_about

    tracks = (track,) if track else ()
    show_about(
        topic,
        settings,
        output,
        tracks=tracks,
        at_most=at_most or PAGES_SHOWN,
        as_json=as_json,
    )


def known_pages(
    pages: Sequence[StoredPage],
    asked: tuple[str, ...],
    *,
    tracks: tuple[str, ...],
    base_url: str,
) -> tuple[str, ...]:
    """Return the addresses of the pages that are asked for by address, link or path.

    Raises :class:`~ragctl.errors.UsageError` for what is no page, and for a page of a track that is
    not asked.
    """
    known = {page.url: page for page in pages}
    by_file = {page.source_path: page.url for page in pages}
    found = []
    for name in asked:
        address, _ = address_of(name, base_url=base_url)
        file = by_file.get(name.strip().removeprefix("./"), "")
        url = next((one for one in (name, file, address, unquote(address)) if one in known), None)
        if url is None:
            near = difflib.get_close_matches(address, known, n=1, cutoff=0.0)
            raise UsageError(
                f"there is no page {name!r} in the database",
                hint=f"Did you mean {near[0]}?" if near else "See `ragctl sources`.",
            )
        if tracks and known[url].track not in tracks:
            raise UsageError(
                f"{url} is in the track {known[url].track!r}, not in {', '.join(tracks)}",
                hint="Leave out --track or --page: together they find nothing.",
            )
        found.append(url)
    return tuple(dict.fromkeys(found))


def require_known_tracks(known: list[str], asked: tuple[str, ...]) -> None:
    """Raise :class:`~ragctl.errors.UsageError` for a track without pages, naming those with."""
    for track in asked:
        if track not in known:
            raise UsageError(
                f"there is no track {track!r} in the database",
                hint=f"Tracks: {', '.join(known) or 'none yet'}.",
            )
