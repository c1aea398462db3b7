"""Values that a shell can complete: tracks and sites that exist, pages of the database."""

from __future__ import annotations

from ragctl import wiring
from ragctl.errors import RagctlError


def complete_tracks(incomplete: str) -> list[str]:
    """Return the tracks in the database that begin with what was typed."""
    try:
        with wiring.open_database(wiring.load_settings({})) as database:
            tracks = database.pages.tracks()
    except RagctlError:
        return []
    return [track for track in tracks if track.startswith(incomplete)]


def complete_pages(incomplete: str) -> list[str]:
    """Return the addresses of pages that begin with what was typed."""
    try:
        with wiring.open_database(wiring.load_settings({})) as database:
            pages = database.pages.all()
    except RagctlError:
        return []
    return [page.url for page in pages if page.url.startswith(incomplete)]


def complete_sites(incomplete: str) -> list[str]:
    """Return the sites of the embedded server that begin with what was typed."""
    try:
        names = [site.name for site in wiring.list_sites(wiring.load_settings({}))]
    except RagctlError:
        return []
    return [name for name in names if name.startswith(incomplete)]
