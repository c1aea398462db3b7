"""The part of a long listing that has the most of a question, cut where the code has a border."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragctl.stages.sentences import stemmed

if TYPE_CHECKING:
    from ragctl.stages.extract.terms import Terms
    from ragctl.stages.extract.units import Unit

MOST_LINES: Final = 12
BORDER: Final = 0.08
"""What a good place to cut counts, as a share of the question."""

_OPEN: Final = "{([,\\:"
_CLOSING: Final = "})]"


def part_of(unit: Unit, terms: Terms) -> Unit:
    """Return a listing whole, or of a long one at most twelve lines, to the byte.

    The part begins and ends at a border of the code where there is one: a blank line, or a line
    that is indented no more than its neighbours.
    """
    lines = unit.text.split("\n")
    if len(lines) <= MOST_LINES:
        return unit
    first, end = _best_window(lines, terms)
    part = lines[first:end]
    while part and not part[-1].strip():
        part.pop()
    text = "\n".join(part)
    shown = (first + 1, first + len(part), len(lines))
    return replace(unit, text=text, stems=tuple(stemmed(text)), lines=shown)


def _best_window(lines: Sequence[str], terms: Terms) -> tuple[int, int]:
    """Return the lines with the most of the question; of equal ones those with good borders."""
    held = [terms.held_in(frozenset(stemmed(line))) for line in lines]
    best, found = -1.0, (0, MOST_LINES)
    for first in range(len(lines)):
        if not lines[first].strip():
            continue
        start = _start_worth(lines, first)
        together: dict[str, float] = {}
        for end in range(first + 1, min(first + MOST_LINES, len(lines)) + 1):
            for term, worth in held[end - 1].items():
                together[term] = max(worth, together.get(term, 0.0))
            worth = terms.share(together) + start + _end_worth(lines, first, end)
            if worth > best + 1e-9:
                best, found = worth, (first, end)
    return found


def _start_worth(lines: Sequence[str], first: int) -> float:
    """Return a little for a good place to begin: the top, after a blank line, an outer line."""
    if lines[first].strip()[:1] in _CLOSING:
        return -BORDER
    if first == 0 or not lines[first - 1].strip():
        return BORDER
    return BORDER / 2 if _indent(lines[first]) <= _indent(lines[first - 1]) else 0.0


def _end_worth(lines: Sequence[str], first: int, end: int) -> float:
    """Return a little for a good place to end: the bottom, or where what was begun is over."""
    last = lines[end - 1]
    outer = _indent(lines[first])
    shallowest = min(_indent(line) for line in lines[first:end] if line.strip())
    if not last.strip() or last.rstrip()[-1] in _OPEN or shallowest < outer:
        return -BORDER
    length = BORDER / 2 * (end - first) / MOST_LINES
    if end == len(lines):
        return BORDER + length
    following = next((line for line in lines[end:] if line.strip()), "")
    if _indent(following) > outer or following.strip()[:1] in _CLOSING:
        return length - (BORDER if _indent(last) > outer else 0.0)
    ends_block = not lines[end].strip() or _indent(following) < outer
    return length + (BORDER if ends_block else BORDER / 2)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
