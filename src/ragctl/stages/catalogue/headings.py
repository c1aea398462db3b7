"""The headings of a site: those that passages are known by, and those inside of passages.

Passages tell the heading that is in force where they begin, underlined headings among them; the
headings further on in a passage stand in the page's text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragctl.records.links import StoredLink

_HEADING: Final = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*(?:\{#[^}]*\})?[ \t]*")
_FENCE: Final = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(```+|~~~+)(.*)")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_EMPHASIS: Final = re.compile(r"[`*]+")


def headings_of(links: Sequence[StoredLink], texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return pages and their headings: addresses with labels, each pair once."""
    found = {(link.url, link.section): None for link in links if link.section}
    for url, text in texts.items():
        found.update(dict.fromkeys((url, label) for label in _labels(text)))
    return [(url, label) for url, label in found if label]


def _labels(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        if fence:
            closing = _FENCE.fullmatch(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
        elif opening := _FENCE.fullmatch(line):
            fence = "" if "`" in opening[2] else opening[1]
        elif "#" in line and (heading := _HEADING.fullmatch(line)):
            yield _EMPHASIS.sub("", _LINK.sub(r"\1", heading[1])).strip()
