"""Opening a reply within its time, whatever takes it.

The socket's own limits bound neither the look-up of a name nor a name with many dead addresses nor
a head that comes byte by byte: so a thread waits for the reply. Where it waits for too long it is
left behind, and the connection it waits on is shut down, so that it ends soon.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from ragctl.errors import ModelError

if TYPE_CHECKING:
    pass

_of_thread = threading.local()


def opened(open_reply: Callable[[], requests.Response], *, seconds: float) -> requests.Response:
    """Return the reply that ``open_reply`` gives within so many seconds.

    Raises :class:`queue.Empty` where it gives none, and the ModelError that it raises.
    """
    opening = _Opening(open_reply)
    threading.Thread(target=opening.run, daemon=True).start()
    try:
        found = opening.begun.get(timeout=seconds)
    except BaseException:
        opening.leave()
        raise
    if isinstance(found, ModelError):
        raise found
    return found


class _Opening:
    """A reply that is waited for in a thread of its own."""

    def __init__(self, open_reply: Callable[[], requests.Response]) -> None:
        self.begun = SimpleQueue[requests.Response | ModelError]()
        self._open_reply = open_reply
        self._lock = threading.Lock()
        self._is_left = False
        self._socket: socket.socket | None = None

    def run(self) -> None:
        """Wait for the reply; one that nobody waits for any more is closed."""
        _of_thread.opening = self
        try:
            response = self._open_reply()
        except ModelError as error:
            self.begun.put(error)
            return
        self.begun.put(response)
        if self._is_left:
            response.close()

    def waits_on(self, connection: socket.socket | None) -> None:
        """Take the connection that the reply is to come on."""
        with self._lock:
            self._socket = connection
        if self._is_left:
            self.leave()

    def leave(self) -> None:
        """Give the reply up."""
        self._is_left = True
        with self._lock, suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)


class LeavableAdapter(HTTPAdapter):
    """Makes connections, but for those to a proxy, that :func:`opened` can leave."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        """Make the pools; called by requests."""
        super().init_poolmanager(*arguments, **named)
        self.poolmanager.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}


class _Plain(HTTPConnection):
    def getresponse(self) -> Any:
        _tell_of(self)
        return super().getresponse()


class _Secure(HTTPSConnection):
    def getresponse(self) -> Any:
        _tell_of(self)
        return super().getresponse()


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


def _tell_of(connection: HTTPConnection) -> None:
    opening = getattr(_of_thread, "opening", None)
    if isinstance(opening, _Opening):
        opening.waits_on(connection.sock)
