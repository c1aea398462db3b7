"""A terminal's screen with its scrollback, as far as ragctl writes to one."""

from __future__ import annotations

import re

_PIECE = re.compile(r"\x1b\[(\d*)([A-Za-z])|\x1b\]8;[^\x1b]*\x1b\\|\x1b\[[\d;]*m|.", re.S)


class Screen:
    """Takes what is written; ``lines`` is all that can be seen by scrolling up.

    Lines that have scrolled off cannot be changed any more: moving up stops at the first row.
    """

    def __init__(self, *, rows: int, columns: int) -> None:
        self._rows = rows
        self._columns = columns
        self._lines = [""]
        self._row = 0
        self._column = 0

    @property
    def lines(self) -> list[str]:
        """All lines, blanks at their ends cut."""
        return [line.rstrip() for line in self._lines]

    def feed(self, text: str) -> None:
        """Take what is written: text, line ends, cursor up, erase below; styles are ignored."""
        for match in _PIECE.finditer(text):
            if match[2] == "A":
                top = max(len(self._lines) - self._rows, 0)
                self._row = max(self._row - int(match[1] or 1), top)
            elif match[2] == "J":
                self._lines[self._row] = self._lines[self._row][: self._column]
                del self._lines[self._row + 1 :]
            elif match[0] == "\n":
                self._next_row()
                self._column = 0
            elif match[0] == "\r":
                self._column = 0
            elif not match[0].startswith("\x1b"):
                self._put(match[0])

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._next_row()
            self._column = 0
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _next_row(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")
