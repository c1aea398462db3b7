"""Whether the links that ragctl prints open a page, and the right heading of it, on the built site.

The built site is a folder of HTML, as a generator leaves it. Links are followed as web servers do:
``/a/b`` is the file ``a/b``, ``a/b.html`` or ``a/b/index.html``; ``/a/b/`` is ``a/b/index.html``;
``/a/b.html`` is that file alone.
"""

from __future__ import annotations

import difflib
import html
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import get_args

from ragctl.errors import ContentError
from ragctl.records.links import DeadLink, LinkFault, LinkReport, LinkStyle, StoredLink
from ragctl.records.pages import UrlStyle
from ragctl.stages.links import is_folder_index, page_link, page_path

_VALUES = r"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+"
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    rf"|<(?P<raw>script|style|textarea|title|xmp|iframe|noembed|noframes)\b{_VALUES}>"
    r".*?(?:</(?P=raw)|\Z)"
    rf"|<(?P<name>[a-z][^\s/>]*+)(?P<values>{_VALUES})>"
    r"|</(?P<end>h[1-6])\s*>",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([^\s=\"'/]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_TAG = re.compile(rf"<!--.*?-->|</?[a-z]{_VALUES}>", re.IGNORECASE | re.DOTALL)
_LIKENESSES_MAX = 300  # anchors for which the most similar id is looked up: each costs a comparison


@dataclass(slots=True)
class BuiltPage:
    """What a fragment can open on a page: its ids, and its headings as text and id, in order.

    A heading's id may stand on the heading, on an element in it, or on the tag right before it.
    """

    ids: set[str] = field(default_factory=set)
    headings: list[tuple[str, str]] = field(default_factory=list)


def read_page(text: str) -> BuiltPage:
    """Return the ids and headings of an HTML page; comments, scripts and styles hold none."""
    page = BuiltPage()
    level, start, anchor, before = "", 0, "", ""
    for match in _MARKUP.finditer(text, 0, text.rfind(">") + 1):  # what follows is no tag
        name = (match["name"] or "").lower()
        found = _identifier(name, match["values"]) if match["values"] else ""
        if found:
            page.ids.add(found)
        if len(name) == 2 and name[0] == "h" and name[1] in "123456":
            level, start, anchor = name, match.end(), found or before
        elif level and match["end"] and match["end"].lower() == level:
            page.headings.append((html.unescape(_TAG.sub("", text[start : match.start()])), anchor))
            level = ""
        elif level and found and not anchor:
            anchor = found
        before = found if name else ""
    return page


def _identifier(name: str, values: str) -> str:
    """Return what a fragment finds of a tag: its id, else the name of an ``a``."""
    lowered = values.lower()
    if "id" not in lowered and "name" not in lowered:
        return ""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(values):
        found.setdefault(match[1].lower(), match[2] or match[3] or match[4] or "")
    return html.unescape(found.get("id") or (found.get("name", "") if name == "a" else ""))


def follow_links(links: Sequence[StoredLink], dist: Path, *, style: LinkStyle) -> LinkReport:
    """Follow links on the built site in the folder ``dist`` and return which do not land.

    ``links`` are ordered by page, the page's own first. Raises
    :class:`~ragctl.errors.ContentError` where there is no such folder or no HTML in it.
    """
    site = _BuiltSite(dist, style.url_style)
    dead: list[DeadLink] = []
    for _, of_page in groupby(links, key=lambda link: link.url):
        dead.extend(site.follow(list(of_page)))
    return LinkReport(dist=str(dist), checked=len(links), dead=tuple(dead))


class _BuiltSite:
    """The HTML files of a built site, by their path below it."""

    def __init__(self, dist: Path, style: UrlStyle) -> None:
        self._dist = dist
        self._style = style
        self._files = _html_files(dist)
        self._folded: dict[str, list[str]] = {}
        for file in self._files:
            self._folded.setdefault(_name_of(file), []).append(file)
        self._likenesses = 0

    def follow(self, links: list[StoredLink]) -> Iterator[DeadLink]:
        """Yield those links of one page that do not land."""
        first = links[0]
        file = self._file_of(first, self._style)
        if file is None:
            hint = self._elsewhere(first)
            yield from (self._dead(link, "page missing", hint) for link in links)
            return
        anchored = [link for link in links if link.anchor]
        if not anchored or file.lower().endswith(".pdf"):
            return  # a viewer opens a PDF at #page=N, whatever is in it
        page = read_page(_text_of(self._dist / file))
        by_label = {_letters(text): anchor for text, anchor in reversed(page.headings) if anchor}
        by_label.pop("", None)
        for link in anchored:
            fault = _fault(link, page, by_label)
            if fault is not None:
                yield self._dead(link, fault, self._instead(link, page, by_label))

    def _file_of(self, link: StoredLink, style: UrlStyle) -> str | None:
        is_index = is_folder_index(link.url, link.source_path)
        path = page_path(link.url, style=style, is_index=is_index).lstrip("/")
        tried = [path, f"{path}.html", f"{path}/index.html"]
        if path.endswith("/") or not path:
            tried = [f"{path}index.html"]
        elif style == "html":
            tried = [path]
        return next((file for file in tried if file in self._files), None)

    def _elsewhere(self, link: StoredLink) -> str:
        for style in get_args(UrlStyle):
            file = self._file_of(link, style)
            if file is not None:
                return f"{file} is there: site.url_style = {style!r} fits"
        files = self._folded.get(_name_of(f"{link.url.strip('/')}.html"), [])
        return f"{files[0]} is there" if files else ""

    def _instead(self, link: StoredLink, page: BuiltPage, by_label: dict[str, str]) -> str:
        same = by_label.get(_letters(link.section or ""))
        if same:
            return f"#{same}"
        self._likenesses += 1
        if self._likenesses > _LIKENESSES_MAX:
            return ""
        near = difflib.get_close_matches(link.anchor or "", sorted(page.ids), n=1)
        return f"#{near[0]}" if near else ""

    def _dead(self, link: StoredLink, fault: LinkFault, hint: str) -> DeadLink:
        is_index = is_folder_index(link.url, link.source_path)
        return DeadLink(
            url=link.url,
            anchor=link.anchor,
            section=link.section,
            source_path=link.source_path,
            link=page_link(
                link.url, link.anchor, base_url="", style=self._style, is_index=is_index
            ),
            fault=fault,
            hint=hint,
        )


def _fault(link: StoredLink, page: BuiltPage, by_label: dict[str, str]) -> LinkFault | None:
    """Return why a section's link does not open it, ``None`` where it does.

    It opens another heading only where that is beyond doubt: what has the id is a heading with
    other words, and a heading with the words of the section stands elsewhere on the page.
    """
    if link.anchor not in page.ids:
        return "anchor missing"
    wanted = _letters(link.section or "")
    opened = {_letters(text) for text, anchor in page.headings if anchor == link.anchor}
    return "other heading" if opened and wanted in by_label and wanted not in opened else None


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _html_files(dist: Path) -> set[str]:
    hint = "Build the site first; name the folder of its HTML."
    if not os.path.isdir(dist):  # noqa: PTH112 - answers where a path cannot be looked at
        raise ContentError(f"no such folder: {dist}", hint=hint)
    files = {
        (Path(folder) / name).relative_to(dist).as_posix()
        for folder, _, names in os.walk(dist)
        for name in names
    }
    if not any(file.lower().endswith((".html", ".htm")) for file in files):
        raise ContentError(f"no HTML in {dist}", hint=hint)
    return files


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ContentError(
            f"cannot read {file}: {error.strerror}",
            hint="Build the site anew, or check the rights.",
        ) from error


def _name_of(file: str) -> str:
    """Return the last part of a page's address, by which a page that moved is found again."""
    path = file.removesuffix("/index.html").removesuffix(".html")
    return path.rpartition("/")[2].casefold()
