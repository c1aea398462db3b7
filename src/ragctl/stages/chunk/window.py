"""Windows of a fixed number of tokens, whatever they cut: the simplest chunker there is.

The rule is that of the reference (`windows(text, size, overlap)`): a window starts every
``size - overlap`` tokens and holds ``size`` of them. There is no model's tokenizer in a stage, so
a token is a piece that the counter ``estimate/1`` counts; 400 of them are about 280 true ones of
an English WordPiece vocabulary in prose, and never many more than 400.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ragctl.errors import SettingsError
from ragctl.records.chunks import Chunk
from ragctl.stages.chunk.labels import HeadingIndex
from ragctl.stages.chunk.tokens import TOKEN_COUNTER, token_spans

if TYPE_CHECKING:
    from ragctl.records.pages import Page


class WindowChunker:
    """Cuts a page into windows of ``size`` tokens, ``overlap`` of them from the window before."""

    def __init__(self, size: int = 400, overlap: int = 0) -> None:
        """Raises :class:`~ragctl.errors.SettingsError` unless ``0 <= overlap < size``."""
        if size < 1 or not 0 <= overlap < size:
            raise SettingsError(
                f"window size {size} with overlap {overlap} cannot work",
                hint="size must be at least 1 token, overlap at least 0 and smaller than size",
            )
        self._size = size
        self._overlap = overlap

    @property
    def name(self) -> str:
        """``window``."""
        return "window"

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """``size`` and ``overlap`` in tokens, and what counts them."""
        return {"size": self._size, "overlap": self._overlap, "counter": TOKEN_COUNTER}

    def chunk(self, page: Page) -> tuple[Chunk, ...]:
        """Return the windows of ``page`` in order, counted from 0; blank ones are left out.

        A body is exactly ``page.text[start_char:end_char]``; its section is the heading in force
        at its first character, and nothing but the body is embedded.
        """
        headings = HeadingIndex(page.headings)
        chunks: list[Chunk] = []
        for start, end in self._windows(page.text):
            heading = headings.at(start)
            chunks.append(
                Chunk(
                    url=page.url,
                    track=page.track,
                    position=len(chunks),
                    ref=f"{page.url}#c{start}",
                    section=heading.label if heading else None,
                    anchor=(heading.anchor or None) if heading else None,
                    breadcrumb="",
                    start_char=start,
                    end_char=end,
                    body=page.text[start:end],
                )
            )
        return tuple(chunks)

    def _windows(self, text: str) -> Iterator[tuple[int, int]]:
        spans = token_spans(text)
        for first in range(0, len(spans), self._size - self._overlap):
            start = spans[first][0]
            end = spans[min(first + self._size, len(spans)) - 1][1]
            if text[start:end].strip():
                yield start, end
