"""A watch for runaway repetition: when an answer has begun to go round in circles.

Models that stream an answer take a fresh ``RepetitionGuard`` for each of them.
"""

from __future__ import annotations

import re
from typing import Final

from ragctl.stages.sentences import CJK

COPIES: Final = 3
BLOCK_CHARS: Final = 24
PHRASE_COPIES: Final = 6
PHRASE_CHARS: Final = 96
_TOKEN: Final = re.compile(rf"\n|[^\S\n]+|[{CJK}]|[^\W{CJK}]+|[^\w\s]")
_LAST_BORDER: Final = re.compile(rf"[\s{CJK}](?=[^\s{CJK}]*\Z)")
_LIST_NUMBER: Final = re.compile(r"\d{1,3}[.)](?=\s)")
_SENTENCE_ENDS: Final = frozenset(".!?。！？\n")


class RepetitionGuard:
    """Finds where a text begins to repeat itself, in one pass over it as it comes.

    It runs away once a block of at least 24 characters (a sentence, lines, a paragraph) stands
    three times in a row, or a shorter phrase six times and over 96 characters, word for word but
    for case, white space and the numbers of list items. Fenced and indented code are not looked
    at, rows of a table must stand six times; a refrain sung twice, or items with the same start,
    do not count.

    A period p is proposed where the last three words stood before, p words earlier, and kept
    while each further word equals the one p before it: constant work a word.
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._length = 0
        self._words: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._last_seen: dict[tuple[str, ...], int] = {}
        self._period = 0
        self._matched = 0
        self._in_fence = False
        self._line_start = True
        self._indent = 0
        self._kind = "text"

    def feed(self, piece: str) -> int | None:
        """Take the next piece of the text.

        Returns None while all is well, else how many characters of the whole text to keep: up
        to the end of the first of the copies.
        """
        border = _LAST_BORDER.search(piece)
        if border is None:
            self._pending.append(piece)
            return None
        text = "".join(self._pending) + piece[: border.end()]
        self._pending = [piece[border.end() :]]
        start, self._length = self._length, self._length + len(text)
        position = 0
        while match := _TOKEN.match(text, position):
            word, position = match.group(), match.end()
            if word == "\n":
                self._line_start, self._indent, self._kind = True, 0, "text"
                continue
            if word.isspace():
                self._indent += len(word.expandtabs(4)) if self._line_start else 0
                continue
            if self._line_start:
                word, position = self._start_line(text, match.start(), word, position)
            if self._kind != "code" and self._take(
                word.casefold(), start + match.start(), start + position
            ):
                return self._cut()
        return None

    def _start_line(self, text: str, at: int, word: str, end: int) -> tuple[str, int]:
        """Note what kind of line begins at ``at``; a list number becomes one word, ``#``."""
        self._line_start = False
        if text.startswith(("```", "~~~"), at):
            self._in_fence = not self._in_fence
            self._kind = "code"
        elif self._in_fence or self._indent >= 4:
            self._kind = "code"
        elif word == "|":
            self._kind = "table"
        elif number := _LIST_NUMBER.match(text, at):
            return "#", number.end()
        if self._kind == "code":
            self._period = self._matched = 0
        return word, end

    def _take(self, word: str, start: int, end: int) -> bool:
        """Take a word; true once the text runs away."""
        index = len(self._words)
        self._words.append(word)
        self._starts.append(start)
        self._ends.append(end)
        last_three = tuple(self._words[-3:])
        if self._period and self._words[index - self._period] == word:
            self._matched += 1
        else:
            seen = self._last_seen.get(last_three) if index >= 2 else None
            self._period = index - seen if seen is not None else 0
            self._matched = 3 if self._period else 0
        self._last_seen[last_three] = index
        return self._matched >= 2 * self._period > 0 and self._runs_away(index)

    def _runs_away(self, index: int) -> bool:
        period = self._period
        size = self._ends[index] - self._ends[index - period]
        copies = self._matched // period + 1
        needed = COPIES if size >= BLOCK_CHARS and self._kind != "table" else PHRASE_COPIES
        if copies < needed or copies * size < PHRASE_CHARS * (needed == PHRASE_COPIES):
            return False
        return any(word.isalpha() for word in self._words[index - period + 1 : index + 1])

    def _cut(self) -> int:
        """Return the end of the first copy, moved on to the end of a sentence."""
        period, first = self._period, len(self._words) - self._matched - self._period
        while first > 0 and self._words[first - 1] == self._words[first - 1 + period]:
            first -= 1
        last = first + period - 1
        for index in range(last, last + period):
            if self._words[index] in _SENTENCE_ENDS:
                return self._ends[index]
        return self._ends[last]
