"""From leaves to atoms: the smallest pieces a passage may begin and end with.

An atom knows how good a place its beginning is for a cut, and what a passage that begins or ends
there must repeat so that its listing or table can be read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ragctl.stages.chunk.cuts import line_cuts, text_spans
from ragctl.stages.chunk.tokens import estimated_tokens

if TYPE_CHECKING:
    from ragctl.stages.chunk.blocks import Leaf

GLUED: Final = 0.0
"""No cut here unless the hard limit leaves no other way."""
_BLOCK: Final = 5.0
_ITEMS: Final = (4.0, 3.2, 2.6)
_INSIDE_ITEM: Final = 2.4
_CODE_PARAGRAPH: Final = 2.6
_INDENTED_PARAGRAPH: Final = 2.0
_SENTENCE: Final = 1.5
_ROW: Final = 1.5
_LINE: Final = 1.0
_INSIDE_WHOLE: Final = 0.5
"""Inside a listing or table that would fit a passage: after any sentence end."""
_WORD: Final = 0.3

_INTRODUCES: Final = re.compile(r"[:：][*_\s]*\Z")
_LABEL: Final = re.compile(r"\s*(\*\*|__)[^\n]{1,120}\1:?\s*\Z")
_CELL_BORDER: Final = re.compile(r"(?<!\\)\|")
_CELL_CHARACTERS: Final = 12
_HEAD_SHARE: Final = 4


@dataclass(slots=True)
class Atom:
    """``text[start:end]``; ``quality`` is that of a cut in front of it.

    ``opening`` (ending in a line break) goes before a passage that begins here, ``closing``
    (beginning with one) behind a passage that ends here.
    """

    start: int
    end: int
    quality: float
    tokens: int
    opening: str = ""
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Room:
    """What a passage may hold: characters wanted, tokens allowed at most."""

    characters: int
    tokens: int


def atoms(text: str, leaves: Sequence[Leaf], room: Room) -> list[Atom]:
    """Return the atoms of leaves that belong to one section.

    Leaves that must stay together are one atom where they fit a passage, else each is taken
    apart; every atom is within ``room.tokens``.
    """
    result: list[Atom] = []
    for group in _groups(text, leaves):
        quality = _quality(group[0])
        start, end = group[0].start, group[-1].end
        tokens = estimated_tokens(text[start:end])
        closing = "" if group[-1].is_closed else "\n" + group[-1].closing
        spare = room.tokens - estimated_tokens(closing)
        if end - start <= room.characters and tokens <= spare:
            result.append(Atom(start, end, quality, tokens, closing=closing))
            continue
        for leaf in group:
            made = _apart(text, leaf, room)
            made[0].quality = quality
            quality = GLUED
            result.extend(made)
    return result


def _groups(text: str, leaves: Sequence[Leaf]) -> Iterator[list[Leaf]]:
    group = [leaves[0]]
    for before, leaf in pairwise(leaves):
        if _belong_together(text, before, leaf):
            group.append(leaf)
        else:
            yield group
            group = [leaf]
    yield group


def _belong_together(text: str, before: Leaf, leaf: Leaf) -> bool:
    if before.kind == "heading":
        return True
    if leaf.kind == "heading":
        return False
    if leaf.kind == "rule":
        return before.kind != "rule"
    if before.kind != "text":
        return False
    end = text[max(before.start, before.end - 200) : before.end]
    return bool(_INTRODUCES.search(end)) or (
        before.end - before.start <= 130 and bool(_LABEL.match(text[before.start : before.end]))
    )


def _quality(leaf: Leaf) -> float:
    if leaf.item_depth:
        return _ITEMS[min(leaf.item_depth, len(_ITEMS)) - 1]
    return _BLOCK if leaf.depth == 0 else _INSIDE_ITEM


def _apart(text: str, leaf: Leaf, room: Room) -> list[Atom]:
    """Return a leaf's atoms; the quality of the first is for the caller to set."""
    made: list[Atom] = []
    if leaf.kind == "fence":
        made = list(_listing(text, leaf, room))
    elif leaf.kind == "table":
        made = list(_table(text, leaf, room))
    elif leaf.kind in ("indented", "html"):
        made = list(_lines(text, leaf.start, leaf.end, _for_lines(leaf, room)))
    if not made or any(atom.tokens > room.tokens for atom in made):
        half = Room(max(1, room.characters // 2), max(1, room.tokens // 2))
        is_heading = leaf.kind == "heading"
        made = [
            Atom(
                span.start,
                span.end,
                GLUED if is_heading else _SENTENCE if span.is_sentence else _WORD,
                estimated_tokens(text[span.start : span.end]),
            )
            for span in text_spans(
                text, leaf.start, leaf.end, characters=half.characters, tokens=half.tokens
            )
        ]
        fits = estimated_tokens(leaf.closing) <= room.tokens - made[-1].tokens
        if fits and not leaf.is_closed:  # marks beyond all measure are not repeated
            made[-1].closing = "\n" + leaf.closing
    return made


def _for_lines(leaf: Leaf, room: Room) -> Room:
    """Lines of code are cut by the hard limit alone, lines of HTML by the size as well."""
    return Room(leaf.end - leaf.start, room.tokens) if leaf.kind == "indented" else room


def _lines(text: str, start: int, end: int, room: Room) -> Iterator[Atom]:
    """Yield an atom a line, lines over the room in parts; blank lines end the atom before."""
    made: Atom | None = None
    quality = _LINE
    while start <= end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        if not text[start:stop].strip():
            if made is not None:
                made.end = stop
            quality = _INDENTED_PARAGRAPH
        else:
            if quality > _LINE and not text[start].isspace():
                quality = _CODE_PARAGRAPH
            for first, last in line_cuts(
                text, start, stop, characters=room.characters, tokens=room.tokens
            ):
                if made is not None:
                    yield made
                made = Atom(first, last, quality, estimated_tokens(text[first:last]))
                quality = _WORD
            quality = _LINE
        start = stop + 1
    if made is not None:
        yield made


def _listing(text: str, leaf: Leaf, room: Room) -> Iterator[Atom]:
    """Yield the atoms of a fence: its own fence lines go with the first and last line of code."""
    ends = estimated_tokens(leaf.opening) + estimated_tokens(leaf.closing)
    first_end = text.find("\n", leaf.start, leaf.end)
    if ends > room.tokens // 2 or first_end < 0:
        return
    last_start = text.rfind("\n", leaf.start, leaf.end) + 1 if leaf.is_closed else leaf.end + 1
    inside = Room(leaf.end - leaf.start, room.tokens - ends)
    made = list(_lines(text, first_end + 1, max(first_end, last_start - 1), inside))
    if not made:
        closing = "" if leaf.is_closed else "\n" + leaf.closing
        tokens = estimated_tokens(text[leaf.start : leaf.end])
        yield Atom(leaf.start, leaf.end, GLUED, tokens, closing=closing)
        return
    fits = leaf.end - leaf.start <= room.characters
    for atom in made:
        atom.opening, atom.closing = leaf.opening + "\n", "\n" + leaf.closing
        if fits:
            atom.quality = min(atom.quality, _INSIDE_WHOLE)
    made[0].opening, made[0].start = "", leaf.start
    made[0].tokens = estimated_tokens(text[made[0].start : made[0].end])
    made[-1].end = leaf.end
    made[-1].closing = "" if leaf.is_closed else "\n" + leaf.closing
    made[-1].tokens = estimated_tokens(text[made[-1].start : made[-1].end])
    yield from made


def _table(text: str, leaf: Leaf, room: Room) -> Iterator[Atom]:
    """Yield the atoms of a table: header, delimiter and first row, then a row each.

    A part of a row that is over the limit gets the borders of the cells before it.
    """
    repeated = _repeated_head(leaf.opening, room.tokens)
    cost = estimated_tokens(repeated)
    if cost > room.tokens // 2:
        return
    head_end = _head_end(text, leaf)
    left = Room(
        max(room.characters - len(repeated), room.characters // 2, 1),
        room.tokens - cost - repeated.count("|"),
    )
    yield from _head(text, leaf.start, head_end, repeated, Room(leaf.end - leaf.start, left.tokens))
    fits = leaf.end - leaf.start <= room.characters
    is_first = True
    for atom in _lines(text, head_end + 1, leaf.end, left):
        atom.opening = repeated + "\n"
        if is_first:
            atom.quality, is_first = GLUED, False
        elif atom.quality == _WORD:
            row_start = text.rfind("\n", leaf.start, atom.start) + 1
            borders = len(_CELL_BORDER.findall(text, row_start, atom.start))
            atom.opening += "|" * max(1, min(borders, repeated.count("|")))
        elif fits:
            atom.quality = min(atom.quality, _INSIDE_WHOLE)
        elif atom.quality == _LINE:
            atom.quality = _ROW
        yield atom


def _head_end(text: str, leaf: Leaf) -> int:
    delimiter_start = text.find("\n", leaf.start, leaf.end) + 1
    end = text.find("\n", delimiter_start, leaf.end)
    return leaf.end if end < 0 else end


def _head(text: str, start: int, end: int, repeated: str, room: Room) -> Iterator[Atom]:
    """Yield header and delimiter row as one atom, or in parts where they alone are too much.

    Then a passage that ends with the header gets a delimiter row, one that begins later both.
    """
    tokens = estimated_tokens(text[start:end])
    if tokens <= room.tokens:
        yield Atom(start, end, GLUED, tokens)
        return
    header_end = text.find("\n", start, end)
    for atom in _lines(text, start, header_end, room):
        atom.opening = repeated + "\n" if atom.start > start else ""
        atom.closing = repeated[repeated.find("\n") :]
        yield atom
    for atom in _lines(text, header_end + 1, end, room):
        atom.opening = f"{repeated}\n|" if atom.quality == _WORD else f"{repeated}\n"
        yield atom


def _repeated_head(opening: str, tokens: int) -> str:
    """Return header and delimiter row as written, where that is dear without what fills cells.

    For tables of very many columns the cells are cut short as well.
    """
    if estimated_tokens(opening) <= tokens // _HEAD_SHARE:
        return opening
    header, delimiter = opening.split("\n")
    delimiter = re.sub(r"-+", "-", "".join(delimiter.split(" ")))
    cells = [" ".join(cell.split()) for cell in _CELL_BORDER.split(header)]
    lean = f"{'|'.join(cells)}\n{delimiter}"
    if estimated_tokens(lean) <= tokens // 2:
        return lean
    short = [
        cell if len(cell) <= _CELL_CHARACTERS else cell[: _CELL_CHARACTERS - 1] + "…"
        for cell in cells
    ]
    return f"{'|'.join(short)}\n{delimiter}"
