"""Links of the pages, and those that lead nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragctl.records.pages import UrlStyle

LinkFault = Literal["page missing", "anchor missing", "other heading"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkStyle:
    """Where links point: the site's address, empty for paths alone, and the form of its paths."""

    base_url: str = ""
    url_style: UrlStyle = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLink:
    """A link that can be printed: a page, or with ``anchor`` a section of it and its label."""

    url: str
    source_path: str
    anchor: str | None
    section: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLink:
    """A link that does not land on the built site.

    ``link`` is what is printed, below the site; ``fault`` says that the page is not there, that
    the anchor is not on it, or that it belongs to another heading. ``hint`` names what is there
    instead, empty where nothing resembles it.
    """

    url: str
    anchor: str | None
    section: str | None
    source_path: str
    link: str
    fault: LinkFault
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReport:
    """What came of following every stored link on the built site in the folder ``dist``.

    ``checked`` counts pages and sections; the sections of a missing page are dead as well.
    """

    dist: str
    checked: int
    dead: tuple[DeadLink, ...]
