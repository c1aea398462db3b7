"""Smaller passages for a model that refuses a passage as too long."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.chunks import Chunk

SHORTEST_CHARACTERS = 80
_BORDER = re.compile(r"\n|(?<=[.!?])\s|\s")
_HEADING = re.compile(r"\n(?=#{1,6} )")


def halves(chunk: Chunk) -> tuple[Chunk, Chunk] | None:
    """Return a passage in two parts, cut at the line, sentence or blank nearest its middle.

    ``None`` where it is too short to be cut. Where a text has no border at all it is cut in the
    middle. Each part has a reference of its own; section and position stay those of the whole.
    """
    body = chunk.body
    if len(body) < 2 * SHORTEST_CHARACTERS:
        return None
    cut = _nearest_border(body, len(body) // 2)
    first, second = body[:cut], body[cut:]
    indent = len(second) - len(second.lstrip("\n "))
    start = min(chunk.start_char + cut + indent, chunk.end_char - 1)
    middle = max(start, chunk.start_char + 1)
    return (
        replace(chunk, body=first.rstrip(), end_char=middle),
        replace(
            chunk,
            body=second.lstrip("\n"),
            ref=f"{chunk.url}#c{middle}",
            start_char=middle,
        ),
    )


def _nearest_border(body: str, middle: int) -> int:
    headings = [match.end() for match in _HEADING.finditer(body)]
    if headings:
        return min(headings, key=lambda place: abs(place - middle))
    low, high = len(body) // 4, 3 * len(body) // 4
    best: tuple[int, int, int] | None = None
    for match in _BORDER.finditer(body, low, high):
        rank = 0 if match[0] == "\n" else 1
        candidate = (rank, abs(match.end() - middle), match.end())
        if best is None or candidate < best:
            best = candidate
    return best[2] if best else middle
