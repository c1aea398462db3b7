"""A proxy in front of a PostgreSQL that cuts the line at a chosen statement."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

STATEMENTS = (b"Q", b"P", b"c")
"""What the driver sends for a statement: a query, one with values (Parse), the end of a COPY."""

_NOT_A_STARTUP = (80877103, 80877104)  # asks whether TLS or GSS is spoken; another packet follows


@dataclass(slots=True)
class CuttingProxy:
    """Counts the statements of all its connections since it was armed, and cuts all at one.

    ``cut_at`` is the number of the statement, from one; with ``after`` the server carries it out
    and its reply is lost, otherwise it never gets there.
    """

    port: int
    server_port: int
    cut_at: int | None = None
    after: bool = False
    seen: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def arm(self, cut_at: int | None, *, after: bool = False) -> None:
        """Count from the beginning, and cut at a statement or at none."""
        self.cut_at, self.after, self.seen = cut_at, after, 0

    def is_cut(self) -> bool:
        """Tell whether the statement to cut at has come."""
        return self.cut_at is not None and self.seen >= self.cut_at

    def serve(self, listener: socket.socket) -> None:
        """Take connections until the listener is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self.is_cut():
                return
            with socket.create_connection(("127.0.0.1", self.server_port)) as server:
                _Line(self, client, server).carry()

    def counts(self, kind: bytes) -> bool:
        """Count a message; tell whether the line is to be cut at it."""
        with self._lock:
            self.seen += kind in STATEMENTS
            return self.is_cut()


class _Line:
    """One connection through the proxy."""

    def __init__(self, proxy: CuttingProxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._received = b""
        self._has_begun = False
        self._is_last = False

    def carry(self) -> None:
        """Carry bytes in both directions until one side ends or the line is cut."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._client, selectors.EVENT_READ)
            ready.register(self._server, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    data = key.fileobj.recv(65536)  # type: ignore[union-attr]
                    if not data:
                        return
                    if key.fileobj is self._client:
                        if self._is_cut_by(data):
                            return
                    elif self._is_last:  # the statement was carried out
                        return
                    else:
                        self._client.sendall(data)

    def _is_cut_by(self, data: bytes) -> bool:
        if self._is_last:
            self._server.sendall(data)
            return False
        self._received += data
        passed = 0
        for kind, end in self._messages():
            if self._proxy.counts(kind):
                if not self._proxy.after:
                    return True
                self._is_last, passed = True, len(self._received)
                break
            passed = end
        self._server.sendall(self._received[:passed])
        self._received = self._received[passed:]
        return False

    def _messages(self) -> Iterator[tuple[bytes, int]]:
        """Yield the kind of each whole message that was received, and where it ends."""
        begin = 0
        while True:
            head = begin + (1 if self._has_begun else 0)
            if len(self._received) < head + 4:
                return
            end = head + int.from_bytes(self._received[head : head + 4])
            if len(self._received) < end:
                return
            kind = self._received[begin:head]
            if not self._has_begun:
                code = int.from_bytes(self._received[head + 4 : head + 8])
                self._has_begun = code not in _NOT_A_STARTUP
            yield kind, end
            begin = end


@contextmanager
def cutting_proxy(server_port: int) -> Iterator[CuttingProxy]:
    """Run a proxy in front of a server's port for the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = CuttingProxy(port=listener.getsockname()[1], server_port=server_port)
        thread = threading.Thread(target=proxy.serve, args=(listener,), daemon=True)
        thread.start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
