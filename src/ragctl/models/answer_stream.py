"""How a streamed answer is put together, whatever the provider's protocol.

Bytes become lines (``lines_of``); a provider reads each of them as a piece of text, and the last
as an ``Ending``; ``StreamedAnswer`` makes a draft of them, and on the way leaves out reasoning,
minds the limit of tokens and watches for repetition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from ragctl.errors import ModelError, ModelReplyError
from ragctl.records.answers import Draft, Finish

LONGEST_LINE_BYTES: Final = 1_048_576
_NOT_STORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class Guard(Protocol):
    """Watches an answer for runaway repetition."""

    def feed(self, piece: str) -> int | None:
        """Take the next piece; return the length of the text to keep once it runs away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the server says an answer ended, with its figures; None for those it does not tell."""

    finish: Finish
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None


def lines_of(packets: Iterator[bytes]) -> Iterator[bytes]:
    """Cut a stream of bytes into lines that are not blank, whatever the packets' borders.

    The last one needs no line end. Raises ModelReplyError for a line over LONGEST_LINE_BYTES.
    """
    held = bytearray()
    for packet in packets:
        held += packet
        if b"\n" in packet:
            *lines, rest = held.split(b"\n")
            held = bytearray(rest)
            yield from (bytes(line) for line in lines if line.strip())
        if len(held) > LONGEST_LINE_BYTES:
            raise ModelReplyError(f"the server sent a line of over {LONGEST_LINE_BYTES:,} bytes")
    if held.strip():
        yield bytes(held)


def count_or_none(value: object) -> int | None:
    """Return a server's figure if it is a whole number of at least 0, else None."""
    return value if type(value) is int and value >= 0 else None


class StreamedAnswer:
    """What has come of one answer so far: ``take`` its pieces, then ask for the ``draft``.

    ``on_text`` is handed the text as it comes, without reasoning and with U+FFFD for NUL and
    lone surrogates. ``finish`` is None until the answer has ended: as the server says, torn, or
    for the repetition that ``guard`` found.
    """

    def __init__(self, guard: Guard, on_text: Callable[[str], None], *, token_limit: int) -> None:
        self.finish: Finish | None = None
        self._guard = guard
        self._on_text = on_text
        self._token_limit = token_limit
        self._thinking = ThinkingFilter()
        self._parts: list[str] = []
        self._started = False
        self._keep: int | None = None
        self._messages = 0
        self._bytes = 0
        self._error = ""
        self._ending: Ending | None = None

    def take(self, piece: str, ending: Ending | None = None) -> None:
        """Take the text of one message of the stream, with ``ending`` where it is the last.

        Raises ModelReplyError for a server that does not keep to the limit of tokens: after as
        many messages and a few more, or 32 bytes a token.
        """
        self._messages += 1
        self._bytes += len(piece.encode("utf-8", "replace"))
        self._show(self._thinking.feed(piece) + (self._thinking.flush() if ending else ""))
        if self.finish is not None:
            return
        if ending is not None:
            self._ending = ending
            self.finish = ending.finish
        elif self._messages > self._token_limit + 16 or self._bytes > 32 * self._token_limit:
            raise ModelReplyError(
                f"the server went past the limit of {self._token_limit} tokens without an end"
            )

    def tear(self, error: ModelError) -> None:
        """End the answer with ``error``; raises it again where no text had come."""
        self._show(self._thinking.flush())
        if not self._started:
            raise error
        self.finish, self._error = "torn", error.message

    def draft(self, route: str) -> Draft:
        """Return the finished draft; raises ModelReplyError where there is no text."""
        if not self._started or self.finish is None:
            raise ModelReplyError(
                "the model returned no text", hint="Ask again or change model.", outcome="no text"
            )
        ending = self._ending or Ending(finish=self.finish)
        return Draft(
            text="".join(self._parts)[: self._keep],
            route=route,
            finish=self.finish,
            error=self._error,
            prompt_tokens=ending.prompt_tokens,
            output_tokens=ending.output_tokens,
            prefill_ms=ending.prefill_ms,
            decode_ms=ending.decode_ms,
        )

    def _show(self, text: str) -> None:
        text = _NOT_STORABLE.sub("\ufffd", text)
        if not self._started:
            text = text.lstrip()
        if not text:
            return
        self._started = True
        self._parts.append(text)
        self._on_text(text)
        self._keep = self._guard.feed(text)
        if self._keep is not None:
            self.finish = "repetition"


class ThinkingFilter:
    """Takes ``<think>...</think>`` out of a stream, also where a tag is cut by a packet's border.

    A block opens only at the start of a line: an answer about the tag, in code or in a sentence,
    stays whole. An unclosed block swallows the rest.
    """

    def __init__(self) -> None:
        self._inside = False
        self._line_is_blank = True
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown now; what may be the start of a tag is held back."""
        text, shown = self._held + piece, ""
        while True:
            tag = _CLOSE if self._inside else _OPEN
            before, found, after = text.partition(tag)
            if not found:
                break
            text = after
            if self._inside:
                self._inside, self._line_is_blank = False, True
            else:
                shown += self._passed(before)
                self._inside = self._line_is_blank
                shown += "" if self._inside else self._passed(found)
        cut = len(text) - _tail_that_starts(tag, text)
        self._held = text[cut:]
        return shown if self._inside else shown + self._passed(text[:cut])

    def flush(self) -> str:
        """Return what is held back, at the end of the stream."""
        held, self._held = self._held, ""
        return "" if self._inside else held

    def _passed(self, text: str) -> str:
        last = text.rpartition("\n")
        if text:
            self._line_is_blank = not last[2].strip() and (bool(last[1]) or self._line_is_blank)
        return text


def _tail_that_starts(tag: str, text: str) -> int:
    """Return the length of the longest end of ``text`` that is a start of ``tag``."""
    longest = min(len(text), len(tag) - 1)
    return next((n for n in range(longest, 0, -1) if tag.startswith(text[-n:])), 0)
