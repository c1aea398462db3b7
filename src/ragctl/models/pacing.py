"""The limits of a streamed answer, whatever the provider: first token, silence, whole answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.models.answer_stream import LONGEST_LINE_BYTES
from ragctl.models.http import HttpServer, Reply, TimedOut

if TYPE_CHECKING:
    from ragctl.models.byte_stream import ByteStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds until the first token, of silence after it, and in all."""

    first_token_seconds: float
    stall_seconds: float
    total_seconds: float


class Pace:
    """Reads one streamed reply within its limits, which begin to run when this is made.

    Set ``has_begun`` once the first token is there: until then the first limit holds, whatever
    keepalives come, and after it the limit of silence.
    """

    def __init__(self, server: HttpServer, limits: Limits, *, clock: Callable[[], float]) -> None:
        self.has_begun = False
        self._server = server
        self._limits = limits
        self._clock = clock
        self._start = clock()

    @property
    def first_byte_seconds(self) -> float:
        """How long the reply's head may take."""
        return min(self._limits.first_token_seconds, self._limits.total_seconds)

    def packets(self, stream: ByteStream) -> Iterator[bytes]:
        """Yield bytes as they come; raises :class:`~ragctl.models.http.TimedOut`."""
        limits = self._limits
        heard = self._start
        while True:
            late = (heard + limits.stall_seconds, _SILENT, limits.stall_seconds)
            if not self.has_begun:
                first = limits.first_token_seconds
                late = (self._start + first, _NO_TEXT, first)
            end = (self._start + limits.total_seconds, _NOT_FINISHED, limits.total_seconds)
            until, (what, outcome), seconds = min(late, end)
            left = until - self._clock()
            try:
                packet = stream.read(timeout_seconds=left) if left > 0 else None
            except TimedOut:
                packet = None
            if packet is None:
                raise self._server.timed_out(what.format(f"{seconds:.3g}"), outcome=outcome)
            if not packet:
                return
            heard = self._clock()
            yield packet

    def whole(self, stream: ByteStream, path: str) -> Reply:
        """Return a reply that is no stream, read as far as an error message may go."""
        body = b""
        for packet in self.packets(stream):
            body += packet
            if len(body) > LONGEST_LINE_BYTES:
                break
        return Reply(
            url=f"{self._server.shown_url}{path}",
            status=stream.status,
            body=self._server.without_key(body),
            retry_after_seconds=stream.retry_after_seconds,
        )


_NO_TEXT = ("sent no text within {} s", "timeout (first token)")
_SILENT = ("was silent for {} s", "timeout (stall)")
_NOT_FINISHED = ("had not finished after {} s", "timeout (total)")
