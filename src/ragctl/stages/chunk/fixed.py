"""The baseline chunker: paragraphs packed to a fixed size, with some overlap.

It knows nothing of fences, tables and sections; it is kept because figures are compared with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.errors import SettingsError
from ragctl.records.chunks import Chunk
from ragctl.stages.chunk.labels import HeadingIndex

if TYPE_CHECKING:
    from ragctl.records.pages import Page

_BLANK_LINES = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"[.!?]\s")
_SEPARATOR = "\n\n"
_WORD_START_WITHIN = 40


@dataclass(frozen=True, slots=True)
class _Passage:
    body: str
    start: int
    end: int


class FixedChunker:
    """Packs paragraphs into passages of about ``size`` characters.

    A paragraph that would overflow starts the next passage, behind the last ``overlap`` characters
    of the one before, from a word start where one is near. A paragraph longer than
    ``size - overlap`` is cut before: at the last line break, else behind the last sentence end,
    else at the limit. No passage is longer than ``size + 2`` characters.
    """

    def __init__(self, size: int = 800, overlap: int = 100) -> None:
        """Raises :class:`~ragctl.errors.SettingsError` unless ``0 <= overlap < size``."""
        if size < 1 or not 0 <= overlap < size:
            raise SettingsError(
                f"passage size {size} with overlap {overlap} cannot work",
                hint="size must be at least 1, overlap at least 0 and smaller than size",
            )
        self._size = size
        self._overlap = overlap

    @property
    def name(self) -> str:
        """``fixed``."""
        return "fixed"

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """``size`` and ``overlap``, in characters."""
        return {"size": self._size, "overlap": self._overlap}

    def chunk(self, page: Page) -> tuple[Chunk, ...]:
        """Return the passages of ``page`` in order, counted from 0.

        ``start_char`` is where a passage's own text starts, behind the overlap; its section is
        the heading in force there.
        """
        headings = HeadingIndex(page.headings)
        chunks: list[Chunk] = []
        for position, passage in enumerate(self._passages(page.text)):
            heading = headings.at(passage.start)
            chunks.append(
                Chunk(
                    url=page.url,
                    track=page.track,
                    position=position,
                    ref=f"{page.url}#c{passage.start}",
                    section=heading.label if heading else None,
                    anchor=(heading.anchor or None) if heading else None,
                    breadcrumb="",
                    start_char=passage.start,
                    end_char=passage.end,
                    body=passage.body,
                )
            )
        return tuple(chunks)

    def _passages(self, text: str) -> Iterator[_Passage]:
        current = ""
        start = end = 0
        for first, last in self._pieces(text):
            piece = text[first:last]
            if not current:
                current, start = piece, first
            elif len(current) + len(_SEPARATOR) + len(piece) > self._size:
                yield _Passage(current, start, end)
                tail = self._tail(current)
                current = f"{tail}{_SEPARATOR}{piece}" if tail else piece
                start = first
            else:
                current = f"{current}{_SEPARATOR}{piece}"
            end = last
        if current:
            yield _Passage(current, start, end)

    def _tail(self, passage: str) -> str:
        """Return what the next passage repeats of this one."""
        if self._overlap == 0:
            return ""
        tail = passage[-self._overlap :]
        blank = tail.find(" ")
        return tail[blank + 1 :] if 0 <= blank < _WORD_START_WITHIN else tail

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield start and end of each paragraph, long ones in parts."""
        limit = self._size - self._overlap
        for start, end in _paragraphs(text):
            while end - start > limit:
                cut = _cut(text, start, start + limit)
                yield start, cut
                start = _skip_blanks(text, cut, end)
            if start < end:
                yield start, end


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of what blank lines part, without blanks at either end."""
    start = 0
    for match in _BLANK_LINES.finditer(text):
        yield from _stripped(text, start, match.start())
        start = match.end()
    yield from _stripped(text, start, len(text))


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    start = _skip_blanks(text, start, end)
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


def _skip_blanks(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to end a part that starts at ``start`` and may reach to ``limit``."""
    line_break = text.rfind("\n", start, limit)
    if line_break > start:
        return line_break
    last = start
    for match in _SENTENCE_END.finditer(text, start, limit):
        last = match.end()
    return last if last > start else limit
