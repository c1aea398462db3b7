"""What every HTTP provider shares: addresses, proxies, deadlines, and errors that say what to do.

Rules of this module:

- A call to a loopback address never goes through a proxy; for any other host the proxy variables
  apply, with ``NO_PROXY``.
- A time limit holds for the whole exchange and not only between two packets: the socket's
  timeout is set to what is left before each read.
- Redirects are not followed: a POST would silently become a GET.
- Messages show addresses without user name and password.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import requests
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import HTTPError, NewConnectionError, ProtocolError

from ragctl.errors import ModelError, ModelReplyError, ModelUnreachable, SettingsError

DEFAULT_PORT: Final = 11434
READ_BYTES: Final = 65_536
LARGEST_REPLY_BYTES: Final = 256 * 1024 * 1024
_SCHEME_PORTS: Final = {"http": 80, "https": 443}
_HOST_NAME: Final = re.compile(r"[\w.-]+")
_USER_AND_PASSWORD: Final = re.compile(r"[^\s/@]*:[^\s/@]*@")


class ConnectionLost(ModelUnreachable):
    """A connection that stood broke off; the same request may pass the next time."""


class TimedOut(ModelUnreachable):
    """A time limit passed before the server had answered."""


class ServerBusy(ModelUnreachable):
    """The server is there but overloaded (429, 502, 503, 504); it may clear."""


class ServerFaultError(ModelReplyError):
    """The server failed inside (500) without saying that the request was at fault; it may clear."""


def normalise_host(value: str) -> str:
    """Return the address that a value of ``OLLAMA_HOST`` stands for, without a final slash.

    Understands what Ollama itself does: ``host``, ``host:port``, ``:port``, addresses of either
    family, ``http(s)://`` with their own default ports (80 and 443, otherwise 11434), a path, and
    quotes or blanks around it. The addresses that a server listens on (``0.0.0.0``, ``::``)
    become the loopback address of the same family. Raises
    :class:`~ragctl.errors.SettingsError` for anything else.
    """
    text = value.strip().strip("\"'").strip()
    scheme, separator, rest = text.partition("://")
    default_port = _SCHEME_PORTS.get(scheme.lower()) if separator else DEFAULT_PORT
    if not separator:
        scheme, rest = "http", text
    authority, _, path = rest.partition("/")
    user, at, place = authority.rpartition("@")
    if default_port is None or re.search(r"[\s?#\\]", rest):
        raise _malformed(value)
    try:
        host, port = _host_and_port(place, default_port)
    except ValueError as error:
        raise _malformed(value) from error
    path = path.rstrip("/")
    return f"{scheme.lower()}://{user}{at}{host}:{port}" + (f"/{path}" if path else "")


def _malformed(value: str) -> SettingsError:
    shown = _USER_AND_PASSWORD.sub("", value)
    return SettingsError(
        f"{shown!r} is not the address of a model server",
        hint="Write it as host:port or http://host:port, for example "
        "OLLAMA_HOST=http://127.0.0.1:11434",
    )


def _host_and_port(place: str, default_port: int) -> tuple[str, int]:
    """Split ``host:port``; IPv6 addresses come back in brackets. Raises ValueError."""
    if place.startswith("["):
        host, closed, rest = place[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise ValueError(place)
        port_text, host = rest[1:], _ipv6(host)
    elif place.count(":") > 1:
        port_text, host = "", _ipv6(place)
    else:
        host, _, port_text = place.partition(":")
        if host and not _HOST_NAME.fullmatch(host):
            raise ValueError(host)
        host = "127.0.0.1" if host in ("", "0.0.0.0") else host
    if not port_text:
        return host, default_port
    if not (port_text.isascii() and port_text.isdigit()) or not 0 < int(port_text) < 65_536:
        raise ValueError(port_text)
    return host, int(port_text)


def _ipv6(text: str) -> str:
    address = ipaddress.IPv6Address(text)
    return "[::1]" if address == ipaddress.IPv6Address("::") else f"[{text}]"


def is_loopback(url: str) -> bool:
    """Whether the address is this machine's own: 127.0.0.0/8, ``::1``, ``localhost`` and below."""
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def without_password(url: str) -> str:
    """Return the address as it may be shown: without user name and password."""
    return re.sub(r"(?<=//)[^/]*@", "", url) if "//" in url else url.rpartition("@")[2]


def open_session(url: str) -> requests.Session:
    """Return a session for calls to ``url`` that uses a proxy only where one may be used."""
    session = requests.Session()
    session.trust_env = not is_loopback(url)
    session.headers["Accept-Encoding"] = "identity"
    return session


def proxy_in_use(url: str) -> str:
    """Name the proxy a call to ``url`` goes through: variable and address, or ``""``."""
    if is_loopback(url):
        return ""
    proxy = select_proxy(url, get_environ_proxies(url, no_proxy=None))
    if not proxy:
        return ""
    names = [
        name
        for name, value in os.environ.items()
        if name.lower().endswith("_proxy") and value and value in proxy
    ]
    return f"{' and '.join(sorted(names)) or 'the proxy'} ({without_password(proxy)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A whole reply: its status, and its body as bytes."""

    url: str
    status: int
    body: bytes

    def json_object(self) -> dict[str, object]:
        """Return the body as a JSON object; raises ModelReplyError for anything else."""
        return json_object(self.body, source=self.url)

    @property
    def error_text(self) -> str:
        """What the server says is wrong, on one line, at most 300 characters; may be empty."""
        text = self.body[:4_000].decode("utf-8", "replace")
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError):
            document = None
        if isinstance(document, dict) and "error" in document:
            inner = document["error"]
            text = str(inner.get("message", inner) if isinstance(inner, dict) else inner)
        return one_line(text)


def one_line(text: str) -> str:
    """Return foreign text fit for a message: no line breaks, at most 300 characters."""
    return " ".join(text.split())[:300]


def json_object(data: bytes, *, source: str) -> dict[str, object]:
    """Parse one JSON object; raises ModelReplyError that quotes the start of what came."""
    text = data.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelReplyError(
            f"{source} sent something that is not JSON: {one_line(text[:120])!r}",
            hint="Is this the address of a model server? Check OLLAMA_HOST.",
        ) from error
    if not isinstance(document, dict):
        raise ModelReplyError(f"{source} sent JSON that is no object: {one_line(text[:120])!r}")
    return document


class ByteStream:
    """The body of a reply, read as it comes."""

    def __init__(self, response: requests.Response, failed: Callable[..., ModelError]) -> None:
        self.status = response.status_code
        self._failed = failed
        self._socket = _socket_of(response)
        read1 = getattr(response.raw, "read1", None)
        # Any other read of urllib3 may wait until it is full; without read1, byte by byte.
        self._parts: Iterator[bytes] = (
            iter(lambda: read1(READ_BYTES), b"") if read1 else response.iter_content(1)
        )

    def read(self, *, timeout_seconds: float) -> bytes:
        """Return the next bytes, ``b""`` at the end.

        Raises :class:`TimedOut` when none come in time, :class:`ConnectionLost` on a reset.
        """
        if self._socket is not None:
            self._socket.settimeout(max(timeout_seconds, 0.001))
        try:
            return next(self._parts, b"")
        except (requests.RequestException, HTTPError, OSError) as error:
            raise self._failed(error, timeout_seconds) from error


def _socket_of(response: requests.Response) -> socket.socket | None:
    """Return the socket under a reply, to set its timeout; None where it cannot be found.

    Neither requests nor urllib3 offers this, and a connection that closes after the reply no
    longer knows its socket, so this goes down the reader of ``http.client``.
    """
    place: object = response.raw
    for name in ("_fp", "fp", "raw", "_sock"):
        place = getattr(place, name, None)
    return place if isinstance(place, socket.socket) else None


class HttpServer:
    """A model server at an address: one session a thread, limits, and errors translated.

    ``server`` is its name in messages; ``hint`` what to do when it cannot be reached.
    """

    def __init__(
        self,
        url: str,
        *,
        connect_seconds: float,
        server: str,
        hint: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = url.rstrip("/")
        self.shown_url = without_password(self.url)
        self.server = server
        self._connect_seconds = connect_seconds
        self._hint = hint
        self._clock = clock
        self._local = threading.local()

    def request(
        self, method: str, path: str, *, timeout_seconds: float, body: object = None
    ) -> Reply:
        """Make one request and return the whole reply, whatever its status.

        Raises ModelUnreachable where no whole reply came within ``timeout_seconds``.
        """
        start = self._clock()
        with self._open(method, path, body, timeout_seconds, self._session()) as response:
            stream, parts, size = ByteStream(response, self._failure), list[bytes](), 0
            while True:
                left = timeout_seconds - (self._clock() - start)
                if left <= 0:
                    raise self.timed_out(f"took longer than {timeout_seconds:g} s")
                part = stream.read(timeout_seconds=left)
                size += len(part)
                if size > LARGEST_REPLY_BYTES:
                    raise ModelReplyError(f"{self.shown_url}{path} sent over {size:,} bytes")
                if not part:
                    break
                parts.append(part)
        url = f"{self.shown_url}{path}"
        return Reply(url=url, status=response.status_code, body=b"".join(parts))

    @contextmanager
    def stream(self, path: str, *, body: object, first_byte_seconds: float) -> Iterator[ByteStream]:
        """POST ``body`` and give the reply to read as it comes.

        The connection is closed on leaving, so that the server stops working for a reader who
        has left. It is a fresh one: an idle one may have been dropped.
        """
        with (
            open_session(self.url) as session,
            self._open("POST", path, body, first_byte_seconds, session) as response,
        ):
            yield ByteStream(response, self._failure)

    def timed_out(self, what: str) -> TimedOut:
        """Return the error for a limit that passed; ``what`` completes "server at URL ..."."""
        return TimedOut(f"{self.server} at {self.shown_url} {what}", hint=self._hint)

    def refusal(self, reply: Reply) -> ModelError:
        """Return the error for a status other than 200 that means nothing special."""
        said = f": {reply.error_text}" if reply.error_text else ""
        proxy = proxy_in_use(self.url)
        through = f" (through {proxy})" if proxy else ""
        message = f"{reply.url} answered {reply.status}{through}{said}"
        if reply.status in (429, 502, 503, 504):
            return ServerBusy(message, hint="The server is busy or starting; try again.")
        if reply.status == 500:
            return ServerFaultError(message, hint=f"See the log of {self.server}.")
        return ModelReplyError(message, hint=f"Is this the address of {self.server}?")

    def _session(self) -> requests.Session:
        session = getattr(self._local, "session", None)
        if not isinstance(session, requests.Session):
            session = self._local.session = open_session(self.url)
        return session

    def _open(
        self, method: str, path: str, body: object, seconds: float, session: requests.Session
    ) -> requests.Response:
        try:
            return session.request(
                method,
                self.url + path,
                json=body,
                stream=True,
                allow_redirects=False,
                timeout=(min(self._connect_seconds, seconds), seconds),
            )
        except (requests.RequestException, OSError, ValueError) as error:
            raise self._failure(error, seconds) from error

    def _failure(self, error: Exception, seconds: float) -> ModelError:
        """Translate what requests raises; the caller chains the original."""
        place = f"{self.server} at {self.shown_url}"
        proxy = proxy_in_use(self.url)
        if proxy and _is_proxy_failure(error):
            return ModelUnreachable(
                f"cannot reach {self.shown_url} through the proxy of {proxy}",
                hint=f"Correct the variable, or add {urlsplit(self.url).hostname} to NO_PROXY.",
            )
        if isinstance(error, requests.ConnectTimeout):
            return TimedOut(f"{place} cannot be reached: connecting timed out", hint=self._hint)
        if isinstance(error, requests.Timeout | TimeoutError) or "timed out" in str(error).lower():
            return self.timed_out(f"was silent for {seconds:.3g} s")
        if isinstance(error, requests.exceptions.SSLError):
            return ModelUnreachable(
                f"{place} failed the TLS handshake: {one_line(str(error))}",
                hint="Check http:// against https:// and the server's certificate.",
            )
        if _is_refused(error):
            return ModelUnreachable(f"no answer from {place}", hint=self._hint)
        if isinstance(error, requests.ConnectionError | ProtocolError | ConnectionError):
            return ConnectionLost(f"the connection to {place} was lost", hint=self._hint)
        return ModelUnreachable(f"cannot call {place}: {type(error).__name__}", hint=self._hint)


def _is_proxy_failure(error: Exception) -> bool:
    kinds = (
        requests.exceptions.ProxyError,
        requests.exceptions.InvalidURL,
        requests.exceptions.InvalidSchema,
        requests.ConnectTimeout,
    )
    # A dead proxy may also show as a connection that could not be made.
    return isinstance(error, kinds) or _is_refused(error) or "proxy" in str(error).lower()


def _is_refused(error: Exception) -> bool:
    """Whether no connection could be made at all: refused, no route, no such name."""
    return any(
        isinstance(getattr(inner, "reason", inner), NewConnectionError) for inner in error.args
    )
