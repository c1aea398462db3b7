"""What is read: files, pages, their headings and what was removed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT_TRACK = "root"


UrlStyle = Literal["plain", "slash", "html"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file of the site, found but not yet read.

    ``path`` is relative to the content root with ``/`` between parts; ``url`` is the page's
    address below the site; ``is_landing`` says that it introduces a folder of other pages.
    """

    path: str
    absolute: Path
    url: str
    track: str
    is_landing: bool
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file that gives no page or no passages, and why.

    ``intended`` is true for what the user or the site's own marks leave out (draft, exclude,
    landing page): those are counted and do not fail a run.
    """

    path: str
    reason: str
    intended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of a page: where its line starts in the text, and the anchor the site gives it."""

    label: str
    level: int
    anchor: str
    start_char: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Source lines that no passage will hold, first to last inclusive, and their class.

    Classes: ``front_matter``, ``svg``, ``comment``, ``shortcode``, ``jsx``, ``tag``,
    ``underline`` (of a setext heading), ``data_uri``, ``blank``.
    """

    first_line: int
    last_line: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page as parsed.

    ``text`` is what passages are cut from: front matter, SVG, comments, known formatting tags
    and site-generator syntax removed, everything else to the byte. ``source_lines[i]`` is the
    1-based source line of the i-th line of ``text`` (split on ``\\n``). ``order`` sorts a track
    into reading order. ``sha256`` is of the file's bytes.
    """

    url: str
    track: str
    title: str
    source_path: str
    sha256: str
    text: str
    front_matter: Mapping[str, object]
    is_landing: bool
    is_draft: bool
    order: tuple[float, str]
    headings: tuple[Heading, ...]
    source_lines: tuple[int, ...]
    removals: tuple[Removal, ...] = ()
    warnings: tuple[str, ...] = ()
    size_bytes: int = 0
    mtime_ns: int = 0
