"""Which passages an answer cites: reading the many ways in which models write a citation.

Understood are ``[1]``, lists and ranges (``[1, 2]``, ``[1-3]``, ``[1; 4]``, ``[1 and 4]``),
``[passage 2]`` and ``[source 5]``, carets and footnotes (``[^1]``), and lenticular or full-width
brackets. Code spans and fences hold no citations; a bracket that a stream left open is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST_RANGE = 100
_OPENING = "[\u3010\uff3b"
_CLOSING = "]\u3011\uff3d"
_MARK = re.compile(
    rf"[{re.escape(_OPENING)}]"
    rf"([^{re.escape(_OPENING + _CLOSING)}\n]{{1,200}})"
    rf"[{re.escape(_CLOSING)}]"
)
_CODE = re.compile(
    r"(?P<fence>```+|~~~+).*?(?:(?P=fence)|\Z)|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.S
)
_WORDS = re.compile(
    r"\b(?:passages?|sources?|refs?|references?|documents?|docs?|no\.?|and|p\.)(?=[\s\d.:]|$)[.:]?",
    re.I,
)
_PART = re.compile(
    r"\s*\^?\s*(\d{1,12})\s*(?:(?:-|\u2013|\u2014|\u2011|to|\.\.)\s*\^?\s*(\d{1,12})\s*)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The numbers an answer cites, in order of first use.

    ``valid`` lie in 1..passages; ``out_of_range`` do not. Long ranges outside are given by their
    ends, so that no answer can make us build a long list.
    """

    valid: tuple[int, ...]
    out_of_range: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One bracket that cites: where it stands in the text, and the numbers it holds."""

    start: int
    end: int
    numbers: tuple[int, ...]
    out_of_range: tuple[int, ...]


def read_marks(text: str, *, passages: int) -> Marks:
    """Return the passages that ``text`` cites, of those numbered 1 to ``passages``."""
    valid: dict[int, None] = {}
    outside: dict[int, None] = {}
    for mark in find_marks(text, passages=passages):
        valid.update(dict.fromkeys(mark.numbers))
        outside.update(dict.fromkeys(mark.out_of_range))
    return Marks(valid=tuple(valid), out_of_range=tuple(outside))


def find_marks(text: str, *, passages: int) -> Iterator[Mark]:
    """Yield the citing brackets of ``text`` in order."""
    for match in _MARK.finditer(without_code(text)):
        following = text[match.end() : match.end() + 1]
        if following == "(" or (following == ":" and _starts_line(text, match.start())):
            continue  # the text of a link, or a link definition
        ranges = _ranges(match[1])
        if ranges is not None:
            numbers, outside = _numbers(ranges, passages)
            yield Mark(start=match.start(), end=match.end(), numbers=numbers, out_of_range=outside)


def without_code(text: str) -> str:
    """Blank out code spans and fences; every other character keeps its place."""
    return _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _starts_line(text: str, position: int) -> bool:
    return text[:position].rpartition("\n")[2].strip() == ""


def _ranges(inside: str) -> list[tuple[int, int]] | None:
    inside = inside.partition("\u2020")[0]  # 【2†source】: what follows the dagger is a label
    inside = _WORDS.sub(lambda match: "," if match[0].lower() == "and" else " ", inside)
    inside = inside.replace("&", ",").replace("#", " ")
    ranges = []
    for part in re.split(r"[,;]", inside):
        match = _PART.fullmatch(part)
        if match is None:
            if part.strip(" ^"):
                return None
            continue
        first = int(match[1])
        ranges.append((first, int(match[2]) if match[2] else first))
    return ranges or None


def _numbers(
    ranges: list[tuple[int, int]], passages: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    valid: dict[int, None] = {}
    outside: dict[int, None] = {}
    for first, last in ranges:
        if first > last:
            continue
        valid.update(dict.fromkeys(range(max(first, 1), min(last, passages) + 1)))
        beyond = range(max(first, passages + 1), last + 1)
        outside.update(
            dict.fromkeys(beyond if len(beyond) <= _LONGEST_RANGE else (beyond[0], beyond[-1]))
        )
        if first == 0:
            outside[0] = None
    return tuple(valid), tuple(outside)
