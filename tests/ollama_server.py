"""A small model server for tests: loopback only, scripted in Python, and it remembers requests."""

from __future__ import annotations

import hashlib
import json
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

End = Literal["normal", "reset", "hang", "cut", "slow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it came; ``target`` is the raw request target, ``body`` its JSON or ``{}``."""

    method: str
    target: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> list[str]:
        """The texts of an embedding request."""
        return list(self.body.get("input", []))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What to answer: ``document`` as JSON, or ``raw`` bytes, or ``packets`` one chunk each.

    A reply that ends ``cut`` lacks its end; a ``slow`` one goes on with a head, or after packets
    with what follows the last chunk, that comes byte by byte for ever.
    """

    status: int = 200
    document: object = None
    raw: bytes | None = None
    packets: Iterable[bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    gap_seconds: float = 0.0
    end: End = "normal"
    chunked: bool = True


Handler = Callable[[Request], Reply]


def unit_vector(text: str, dimensions: int = 768) -> list[float]:
    """Return a unit vector that depends on the text alone."""
    seed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    numbers = [math.sin(1 + i * (1 + seed[i % 32])) for i in range(dimensions)]
    length = math.sqrt(sum(x * x for x in numbers))
    return [x / length for x in numbers]


def embeddings(request: Request) -> Reply:
    """Answer an embedding request as a healthy server does."""
    return Reply(document={"embeddings": [unit_vector(text) for text in request.inputs]})


def chat_lines(*pieces: str, done: Mapping[str, object] | None = None) -> list[bytes]:
    """Return the lines of a streamed answer; without ``done`` it has no last line."""
    lines: list[dict[str, object]] = [
        {"message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces
    ]
    if done is not None:
        lines.append({"message": {"role": "assistant", "content": ""}, "done": True, **done})
    return [json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines]


def chat(*pieces: str, **done: object) -> Reply:
    """Return a whole streamed answer that ends as it should."""
    return Reply(packets=chat_lines(*pieces, done={"done_reason": "stop", **done}))


class OllamaServer:
    """A server on a free port of 127.0.0.1; use it as a context manager.

    ``on(path, reply, ...)`` scripts a path: each reply is used once, the last one for ever; a
    reply may be a function of the request. ``requests`` holds what came; ``left`` is set once a
    client has closed its connection before the end of a reply.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.left = threading.Event()
        self._stopping = threading.Event()
        self._scripts: dict[str, list[Reply | Handler]] = {}
        self._lock = threading.Lock()
        models = [{"name": f"{name}:latest", "digest": f"digest-of-{name}"} for name in _MODELS]
        self.on("/api/tags", Reply(document={"models": models}))
        self.on("/api/version", Reply(document={"version": "0.13.5"}))
        self.on("/api/embed", embeddings)
        self._http = _Server(("127.0.0.1", 0), _Connection)
        self._http.script = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, *replies: Reply | Handler) -> None:
        """Script a path, replacing what it answered before."""
        self._scripts[path] = list(replies)

    def requests_to(self, path: str) -> list[Request]:
        """Return the requests to a path, in the order they came."""
        return [request for request in self.requests if request.target.endswith(path)]

    def answer(self, request: Request) -> Reply:
        """Note a request and return what the script says."""
        path = "/" + request.target.partition("://")[2].partition("/")[2]
        with self._lock:
            self.requests.append(request)
            script = self._scripts.get(path if "://" in request.target else request.target)
            if not script:
                return Reply(status=404, raw=b"404 page not found")
            step = script.pop(0) if len(script) > 1 else script[0]
        return step if isinstance(step, Reply) else step(request)

    def hang(self, connection: socket.socket) -> None:
        """Say nothing until the client leaves or the server stops."""
        connection.settimeout(0.02)
        while not self._stopping.is_set():
            try:
                if not connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.left.set()

    def drip(self, connection: socket.socket) -> None:
        """Send a header byte by byte until the client leaves or the server stops."""
        connection.sendall(b"X-Slow: ")
        while not self._stopping.wait(0.02):
            connection.sendall(b"a")


_MODELS: Sequence[str] = ("nomic-embed-text", "llama3")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: OllamaServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep a client that left from filling the output."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._play()

    def do_POST(self) -> None:
        self._play()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""

    def _play(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            method=self.command,
            target=self.path,
            body=json.loads(data) if data else {},
            headers=dict(self.headers),
        )
        reply = self.server.script.answer(request)
        time.sleep(reply.delay_seconds)
        try:
            self._send(reply)
        except OSError:
            self.server.script.left.set()
            self.close_connection = True

    def _send(self, reply: Reply) -> None:
        if reply.end == "reset" and reply.packets is None:
            self._reset()
            return
        if reply.end == "hang" and reply.packets is None:
            self._hang()
            return
        if reply.end == "slow" and reply.packets is None:
            self._drip(b"HTTP/1.1 200 OK\r\n")
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.packets is not None:
            self._stream(reply, reply.packets)
            return
        body = reply.raw if reply.raw is not None else json.dumps(reply.document).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Reply, packets: Iterable[bytes]) -> None:
        if reply.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.close_connection = True
            self.send_header("Connection", "close")
        self.end_headers()
        for packet in packets:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(packet), packet) if reply.chunked else packet)
            time.sleep(reply.gap_seconds)
        if reply.end == "reset":
            self._reset()
        elif reply.end == "hang":
            self._hang()
        elif reply.end == "slow":
            self._drip(b"0\r\n")
        elif reply.end == "cut":
            self.close_connection = True
        elif reply.chunked:
            self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        self.close_connection = True
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        socket.close(self.connection.detach())

    def _drip(self, begun: bytes) -> None:
        self.close_connection = True
        self.wfile.write(begun)
        self.server.script.drip(self.connection)

    def _hang(self) -> None:
        self.close_connection = True
        self.server.script.hang(self.connection)
