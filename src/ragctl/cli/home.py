"""``ragctl`` alone: where the user stands, and what comes next."""

from __future__ import annotations

import os
from datetime import datetime

from ragctl import wiring
from ragctl.cli.output import Output
from ragctl.cli.render import counted
from ragctl.errors import ContentError


def show_home() -> None:
    """Print what the site holds and how to ask, or how to begin."""
    settings = wiring.load_settings({})
    output = Output(environ=os.environ)
    try:
        with wiring.open_database(settings) as database:
            pages = [page for page in database.pages.all() if not page.is_landing]
            run = database.runs.last()
            root = database.site.content_root()
            identity = database.identity.load()
    except ContentError:
        pages, run, root, identity = [], None, None, None
    if not pages or identity is None:
        others = [] if settings.database.url else [one.name for one in wiring.list_sites(settings)]
        _show_beginning(output, root_is_set=bool(settings.site.root), others=others)
        return
    passages = sum(page.passages for page in pages)
    tracks = len({page.track for page in pages})
    output.line(f"Site {settings.site.name}: {root}")
    held = f"{counted(len(pages), 'page')} in {counted(tracks, 'track')}"
    output.line(f"{held}, {counted(passages, 'passage')}")
    output.line(f"embedded with {identity.embedding.label}")
    if run is not None and run.finished_at is not None:
        ago = _ago(datetime.now(run.finished_at.tzinfo), run.finished_at)
        output.line(f"last ingest {ago}")
    output.line()
    output.line('  ragctl ask "..."     ask a question')
    output.line("  ragctl sources       what is in the database")
    output.line("  ragctl ingest        bring in what changed")
    output.line("  ragctl --help        everything else")


def _show_beginning(output: Output, *, root_is_set: bool, others: list[str]) -> None:
    ingest = "ragctl ingest" if root_is_set else "ragctl ingest PATH/TO/CONTENT"
    output.line("Nothing has been ingested yet.")
    if others:
        output.line(f"Other sites: {', '.join(others)} (choose one with --site).")
    output.line()
    output.line("  ragctl demo          try it on the handbook that ships with ragctl")
    output.line(f"  {ingest}")
    output.line("                       read your own site's markdown")
    output.line("  ragctl doctor        look at what ragctl needs here")
    output.line("  ragctl --help        everything else")


def _ago(now: datetime, then: datetime) -> str:
    seconds = max((now - then).total_seconds(), 0)
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count != 1 else ''} ago"
    return "just now"
