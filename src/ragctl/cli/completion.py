"""Values that a shell can complete: tracks and sites that exist, pages of the database.

Shells put them on the command line as they are, where ``$(...)`` in the name of a folder would be
run: names with anything but letters, digits and a few marks are typed by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ragctl import wiring
from ragctl.errors import RagctlError

_PLAIN: Final = re.compile(r"[\w/][\w/.,:@%+=-]*")


def _fitting(values: Iterable[str], incomplete: str) -> list[str]:
    return [one for one in values if one.startswith(incomplete) and _PLAIN.fullmatch(one)]


def complete_tracks(incomplete: str) -> list[str]:
    """Return the tracks in the database that begin with what was typed."""
    try:
        with wiring.open_database(wiring.load_settings({})) as database:
            tracks = database.pages.tracks()
    except RagctlError:
        return []
    return _fitting(tracks, incomplete)


def complete_pages(incomplete: str) -> list[str]:
    """Return the addresses of pages that begin with what was typed."""
    try:
        with wiring.open_database(wiring.load_settings({})) as database:
            pages = database.pages.all()
    except RagctlError:
        return []
    return _fitting((page.url for page in pages), incomplete)


def complete_sites(incomplete: str) -> list[str]:
    """Return the sites of the embedded server that begin with what was typed."""
    try:
        names = [site.name for site in wiring.list_sites(wiring.load_settings({}))]
    except RagctlError:
        return []
    return _fitting(names, incomplete)
