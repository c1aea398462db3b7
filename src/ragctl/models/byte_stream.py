"""The body of a reply as it comes, each read within its time.

A socket's timeout begins anew with every byte. What http.client reads for itself, the frame of a
chunk and what follows the last one, may come byte by byte for ever and never reach us. So a thread
watches, and shuts the connection down when the time of a read is over.
"""

from __future__ import annotations

import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import requests
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from ragctl.errors import ModelError

GRACE_SECONDS: Final = 0.1  # the socket's own limits come first: they know what was late
READ_BYTES: Final = 65_536


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a reply asks to wait, ``None`` where it gives none or a date."""
    told = headers.get("Retry-After", "").strip()
    return float(told) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", told) else None


class ByteStream:
    """The body of a reply, read as it comes; use it as a context manager around the reading."""

    def __init__(self, response: requests.Response, failed: Callable[..., ModelError]) -> None:
        self.status = response.status_code
        self.retry_after_seconds = retry_after(response.headers)
        self._failed = failed
        self._socket = _socket_of(response)
        self._watch = _Watch(self._socket)
        read1 = getattr(response.raw, "read1", None)
        # Any other read of urllib3 may wait until it is full; without read1, byte by byte.
        self._parts: Iterator[bytes] = (
            iter(lambda: read1(READ_BYTES), b"") if read1 else response.iter_content(1)
        )

    def read(self, *, timeout_seconds: float) -> bytes:
        """Return the next bytes, ``b""`` at the end.

        Raises :class:`TimedOut` when none come in time, :class:`ConnectionLost` on a reset.
        """
        timeout_seconds = max(timeout_seconds, 0.001)
        if self._socket is not None:
            self._socket.settimeout(timeout_seconds)
        self._watch.begin(timeout_seconds + GRACE_SECONDS)
        try:
            part = next(self._parts, b"")
        except (requests.RequestException, HTTPError, OSError) as error:
            late = TimeoutError() if self._watch.end() else error
            raise self._failed(late, timeout_seconds) from error
        if self._watch.end():  # whatever the end of the connection looked like
            raise self._failed(TimeoutError(), timeout_seconds)
        return part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watch.close()


class _Watch:
    """Shuts a connection down once the time that was begun is over; nothing where there is none."""

    def __init__(self, connection: socket.socket | None) -> None:
        self._connection = connection
        self._changed = threading.Condition()
        self._until = self._wakes_at = math.inf
        self._is_closed = self._is_over = False
        self._thread: threading.Thread | None = None

    def begin(self, seconds: float) -> None:
        """Let a time begin."""
        if self._connection is None:
            return
        with self._changed:
            self._until = time.monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            elif self._until < self._wakes_at:  # seldom: most times end later than those before
                self._changed.notify()

    def end(self) -> bool:
        """End the time; tell whether it was over and the connection shut down."""
        with self._changed:
            self._until = math.inf
            return self._is_over

    def close(self) -> None:
        """Let the thread go."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._is_closed:
                if self._until <= time.monotonic():
                    self._is_over = True
                    with suppress(OSError):
                        assert self._connection is not None
                        self._connection.shutdown(socket.SHUT_RDWR)
                    return
                self._wakes_at = self._until
                left = self._until - time.monotonic()
                self._changed.wait(None if left == math.inf else left)


def _socket_of(response: requests.Response) -> socket.socket | None:
    """Return the socket under a reply, to set its timeout; None where it cannot be found.

    Neither requests nor urllib3 offers this, and a connection that closes after the reply no
    longer knows its socket, so this goes down the reader of ``http.client``.
    """
    place: object = response.raw
    for name in ("_fp", "fp", "raw", "_sock"):
        place = getattr(place, name, None)
    return place if isinstance(place, socket.socket) else None
