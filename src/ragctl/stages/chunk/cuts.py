"""Where running text may be cut: behind sentences, then at lines, words, marks, characters.

Never inside a code span, a link or a character made of several code points where that can be
helped, and in time that grows with the text alone.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ragctl.stages.chunk.tokens import fitting_end
from ragctl.stages.code_spans import code_spans

_SENTENCE_BORDER: Final = re.compile(
    r"(?<=[.!?…])[\"'”’)\]*_]{0,8}\s++(?=[\"'“‘(\[`*_]{0,8}[^\W_a-z])"
    r"|(?<=[。！？])[\"'”’」』）】]*+"
)
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|figs?|eq|sec|nos?|dr|mr|mrs|ms|prof|inc|ltd|al|st)"
    r"|\b[A-Z])\.\Z",
    re.IGNORECASE,
)
_LINK: Final = re.compile(r"!?\[[^\[\]]*+\](?:\([^()]*+\)|\[[^\[\]]*+\])")
_MARK: Final = re.compile(r"[。！？；：，、）」』】]")
_GRAPHEME_MAX: Final = 32


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of running text; ``is_sentence`` says that a sentence, or the text, starts it."""

    start: int
    end: int
    is_sentence: bool


def text_spans(text: str, start: int, end: int, *, characters: int, tokens: int) -> Iterator[Span]:
    """Yield the sentences of ``text[start:end]``, those over either limit in parts.

    The spans hold all that is not blank, in order; they begin and end without blanks, but for
    the indent in front of the first.
    """
    guarded = _Guarded(text, start, end)
    begin = start
    for border in [*_sentence_borders(text, start, end, guarded), end]:
        stop = _without_blanks(text, begin, border)
        if stop > begin:
            is_sentence = True
            for cut in _cuts(text, begin, stop, guarded, characters, tokens):
                last = _without_blanks(text, begin, cut)
                if last > begin:
                    yield Span(begin, last, is_sentence)
                    is_sentence = False
                begin = _skip_blanks(text, cut, stop)
        begin = _skip_blanks(text, max(border, begin), end)


def line_cuts(
    text: str, start: int, end: int, *, characters: int, tokens: int
) -> Iterator[tuple[int, int]]:
    """Yield a line whole, or in parts without a gap where it is over either limit."""
    guarded = _Guarded("", 0, 0)
    for cut in _cuts(text, start, end, guarded, characters, tokens):
        yield start, cut
        start = cut


class _Guarded:
    """Code spans and links of a piece of text, which are cut last."""

    def __init__(self, text: str, start: int, end: int) -> None:
        spans: list[tuple[int, int]] = []
        if text.find("`", start, end) >= 0:
            spans.extend(zip(*code_spans(text, start, end), strict=True))
        if text.find("]", start, end) >= 0:
            spans.extend(match.span() for match in _LINK.finditer(text, start, end))
        self._starts: list[int] = []
        self._ends: list[int] = []
        for first, last in sorted(spans):
            if self._ends and first < self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], last)
            else:
                self._starts.append(first)
                self._ends.append(last)

    def start_of(self, place: int) -> int | None:
        """Return where the span starts that a cut at ``place`` would open, ``None`` for none."""
        index = bisect_right(self._starts, place) - 1
        if index < 0 or not self._starts[index] < place < self._ends[index]:
            return None
        return self._starts[index]


def _sentence_borders(text: str, start: int, end: int, guarded: _Guarded) -> Iterator[int]:
    for match in _SENTENCE_BORDER.finditer(text, start, end):
        if guarded.start_of(match.end()) is not None:
            continue
        if not _ABBREVIATION.search(text, max(start, match.start() - 12), match.start()):
            yield match.end()


def _cuts(
    text: str, start: int, end: int, guarded: _Guarded, characters: int, tokens: int
) -> Iterator[int]:
    """Yield where to end each part of ``text[start:end]``; the last one is ``end``."""
    while start < end:
        stop = fitting_end(text, start, min(start + characters, end), tokens)
        if stop < end:
            stop = _best_cut(text, start, stop, guarded)
        yield stop
        start = stop


def _best_cut(text: str, start: int, stop: int, guarded: _Guarded) -> int:
    """Return the best place to cut in the second half of ``text[start:stop]``."""
    half = start + (stop - start + 1) // 2
    for blank in ("\n", " "):
        cut = text.rfind(blank, half, stop + 1)
        if cut > start:
            opened = guarded.start_of(cut)
            if opened is None:
                return cut
            if opened > start and text[start:opened].strip():
                return opened
    cut = max((match.end() for match in _MARK.finditer(text, half, stop)), default=stop)
    opened = guarded.start_of(cut)
    if opened is not None and opened > start and text[start:opened].strip():
        return opened
    return _character_start(text, start, cut)


def _character_start(text: str, start: int, cut: int) -> int:
    """Move a cut back to where a character that people see as one starts."""
    place = cut
    for _ in range(_GRAPHEME_MAX):
        if place - 1 <= start or place >= len(text) or not _extends(text, place):
            break
        place -= 1
    return place if place - 1 > start and not _extends(text, place) else cut


def _extends(text: str, place: int) -> bool:
    """Whether the code point at ``place`` belongs to the character before it."""
    if place >= len(text):
        return False
    char, before = text[place], text[place - 1]
    if char < "\u0300":
        return before == "\u200d"
    return (
        unicodedata.category(char)[0] == "M"
        or char == "\u200d"
        or before == "\u200d"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\u1160" <= char <= "\u11ff"
        or ("\U0001f1e6" <= char <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff")
    )


def _skip_blanks(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _without_blanks(text: str, start: int, end: int) -> int:
    while end > start and text[end - 1].isspace():
        end -= 1
    return end
