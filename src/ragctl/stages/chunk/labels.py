"""The heading in force at a place of a page: what every chunker labels its passages with."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.pages import Heading


class HeadingIndex:
    """Answers, for any offset of one page's text, under which heading it stands."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._headings = tuple(headings)
        self._starts = [heading.start_char for heading in self._headings]

    def at(self, offset: int) -> Heading | None:
        """Return the nearest heading that starts at or before ``offset``; ``None`` before all."""
        index = bisect_right(self._starts, offset) - 1
        return self._headings[index] if index >= 0 else None
