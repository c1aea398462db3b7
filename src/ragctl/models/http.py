"""What every HTTP provider shares: proxies, deadlines, and errors that say what to do.

Rules of this module:

- A call to a loopback address never goes through a proxy; for any other host the proxy variables
  apply, with ``NO_PROXY``.
- A time limit holds for the whole exchange and not only between two packets: the socket's
  timeout is set to what is left before each read.
- Redirects are not followed: a POST would silently become a GET.
- Messages show addresses without user name and password.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import Empty
from typing import Final
from urllib.parse import urlsplit

import requests
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import NewConnectionError, ProtocolError

from ragctl.addresses import is_loopback, without_password
from ragctl.errors import ModelError, ModelReplyError, ModelUnreachable
from ragctl.models.byte_stream import GRACE_SECONDS, ByteStream, retry_after
from ragctl.models.opening import LeavableAdapter, opened

LARGEST_REPLY_BYTES: Final = 256 * 1024 * 1024


class ConnectionLost(ModelUnreachable):
    """A connection that stood broke off; the same request may pass the next time."""

    usual_outcome = "connection lost"


class TimedOut(ModelUnreachable):
    """A time limit passed before the server had answered."""

    usual_outcome = "timeout"


class ServerBusy(ModelUnreachable):
    """The server is there but overloaded (429, 502, 503, 504); it may clear."""


class ServerFaultError(ModelReplyError):
    """The server failed inside (500) without saying that the request was at fault; it may clear."""


def open_session(url: str) -> requests.Session:
    """Return a session for calls to ``url`` that uses a proxy only where one may be used."""
    session = requests.Session()
    session.trust_env = not is_loopback(url)
    session.headers["Accept-Encoding"] = "identity"
    for scheme in ("http://", "https://"):
        session.mount(scheme, LeavableAdapter())
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
    """A whole reply: its status, its body as bytes, and when to come back if it says so."""

    url: str
    status: int
    body: bytes
    retry_after_seconds: float | None = None

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


def json_object(
    data: bytes,
    *,
    source: str,
    hint: str = "Is this the address of a model server? Check OLLAMA_HOST.",
) -> dict[str, object]:
    """Parse one JSON object; raises ModelReplyError that quotes the start of what came."""
    text = data.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelReplyError(
            f"{source} sent something that is not JSON: {one_line(text[:120])!r}",
            hint=hint,
            outcome="garbage",
        ) from error
    if not isinstance(document, dict):
        raise ModelReplyError(
            f"{source} sent JSON that is no object: {one_line(text[:120])!r}", outcome="garbage"
        )
    return document


class HttpServer:
    """A model server at an address: one session a thread, limits, and errors translated.

    ``server`` is its name in messages; ``hint`` what to do when it cannot be reached. ``key`` is
    sent as a bearer token and taken out of whatever the server says (:meth:`without_key`).
    """

    def __init__(
        self,
        url: str,
        *,
        connect_seconds: float,
        server: str,
        hint: str,
        key: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = url.rstrip("/")
        self.shown_url = without_password(self.url)
        self.server = server
        self._connect_seconds = connect_seconds
        self._hint = hint
        self._key = key
        self._clock = clock
        self._local = threading.local()

    def request(
        self, method: str, path: str, *, timeout_seconds: float, body: object = None
    ) -> Reply:
        """Make one request and return the whole reply, whatever its status.

        Raises ModelUnreachable where no whole reply came within ``timeout_seconds``.
        """
        start = self._clock()
        parts, size = list[bytes](), 0
        with (
            self._opened(
                partial(self._open, method, path, body, timeout_seconds, self._session()),
                within_seconds=timeout_seconds,
                late="timeout (total)",
            ) as response,
            ByteStream(response, self._failure) as stream,
        ):
            while True:
                left = timeout_seconds - (self._clock() - start)
                if left <= 0:
                    what = f"took longer than {timeout_seconds:g} s"
                    raise self.timed_out(what, outcome="timeout (total)")
                part = stream.read(timeout_seconds=left)
                size += len(part)
                if size > LARGEST_REPLY_BYTES:
                    raise ModelReplyError(f"{self.shown_url}{path} sent over {size:,} bytes")
                if not part:
                    break
                parts.append(part)
        url = f"{self.shown_url}{path}"
        return Reply(
            url=url,
            status=response.status_code,
            body=self.without_key(b"".join(parts)),
            retry_after_seconds=retry_after(response.headers),
        )

    @contextmanager
    def stream(self, path: str, *, body: object, first_byte_seconds: float) -> Iterator[ByteStream]:
        """POST ``body`` and give the reply to read as it comes.

        The connection is closed on leaving, so that the server stops working for a reader who
        has left. It is a fresh one: an idle one may have been dropped.
        """
        late = "timeout (first token)"
        with (
            self._new_session() as session,
            self._opened(
                partial(self._open, "POST", path, body, first_byte_seconds, session, late=late),
                within_seconds=min(self._connect_seconds, first_byte_seconds) + first_byte_seconds,
                late=late,
            ) as response,
            ByteStream(response, self._failure) as body_stream,
        ):
            yield body_stream

    def without_key(self, data: bytes) -> bytes:
        """Return what a server sent without the key, should it repeat it."""
        return data.replace(self._key.encode(), b"***") if self._key else data

    def timed_out(self, what: str, *, outcome: str = "") -> TimedOut:
        """Return the error for a limit that passed; ``what`` completes "server at URL ..."."""
        message = f"{self.server} at {self.shown_url} {what}"
        return TimedOut(message, hint=self._hint, outcome=outcome)

    def refusal(self, reply: Reply) -> ModelError:
        """Return the error for a status other than 200 that means nothing special."""
        said = f": {reply.error_text}" if reply.error_text else ""
        proxy = proxy_in_use(self.url)
        through = f" (through {proxy})" if proxy else ""
        message = f"{reply.url} answered {reply.status}{through}{said}"
        outcome = f"http {reply.status}"
        if reply.status in (429, 502, 503, 504):
            return ServerBusy(
                message,
                hint="The server is busy or starting; try again.",
                outcome=outcome,
                may_clear=True,
                retry_after_seconds=reply.retry_after_seconds,
            )
        if reply.status == 500:
            hint = f"See the log of {self.server}."
            return ServerFaultError(message, hint=hint, outcome=outcome)
        hint = f"Is this the address of {self.server}?"
        return ModelReplyError(message, hint=hint, outcome=outcome)

    def _session(self) -> requests.Session:
        session = getattr(self._local, "session", None)
        if not isinstance(session, requests.Session):
            session = self._local.session = self._new_session()
        return session

    def _new_session(self) -> requests.Session:
        session = open_session(self.url)
        if self._key:
            session.auth = _Bearer(self._key)  # a header alone would give way to ~/.netrc
        return session

    def _opened(
        self, open_reply: Callable[[], requests.Response], *, within_seconds: float, late: str
    ) -> requests.Response:
        """Open a reply within its time, whatever takes it."""
        try:
            return opened(open_reply, seconds=within_seconds + GRACE_SECONDS)
        except ModelError:
            raise
        except BaseException as error:
            self._local.session = None  # the thread that is left behind has it
            if isinstance(error, Empty):
                what = f"sent no reply within {within_seconds:.3g} s"
                raise self.timed_out(what, outcome=late) from error
            raise

    def _open(
        self,
        method: str,
        path: str,
        body: object,
        seconds: float,
        session: requests.Session,
        *,
        late: str = "timeout (total)",
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
            raise self._failure(error, seconds, late=late) from error

    def _failure(
        self, error: Exception, seconds: float, *, late: str = "timeout (total)"
    ) -> ModelError:
        """Translate what requests raises; the caller chains the original."""
        place = f"{self.server} at {self.shown_url}"
        proxy = proxy_in_use(self.url)
        if proxy and _is_proxy_failure(error):
            return ModelUnreachable(
                f"cannot reach {self.shown_url} through the proxy of {proxy}",
                hint=f"Correct the variable, or add {urlsplit(self.url).hostname} to NO_PROXY.",
                outcome="proxy unreachable",
            )
        if isinstance(error, requests.ConnectTimeout):
            what = "cannot be reached: connecting timed out"
            return self.timed_out(what, outcome="timeout (connect)")
        if isinstance(error, requests.Timeout | TimeoutError) or "timed out" in str(error).lower():
            return self.timed_out(f"was silent for {seconds:.3g} s", outcome=late)
        if isinstance(error, requests.exceptions.SSLError):
            return ModelUnreachable(
                f"{place} failed the TLS handshake: {one_line(str(error))}",
                hint="Check http:// against https:// and the server's certificate.",
                outcome="tls failed",
            )
        if _is_refused(error):
            message = f"no answer from {place}"
            outcome = "connection refused"
            return ModelUnreachable(message, hint=self._hint, outcome=outcome, may_clear=True)
        if isinstance(error, requests.ConnectionError | ProtocolError | ConnectionError):
            message = f"the connection to {place} was lost"
            return ConnectionLost(message, hint=self._hint, may_clear=True)
        return ModelUnreachable(f"cannot call {place}: {type(error).__name__}", hint=self._hint)


class _Bearer(requests.auth.AuthBase):
    """Puts a key into the request's header."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request


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


def time_to_connect(url: str, *, seconds: float, clock: Callable[[], float]) -> float | None:
    """Open a connection and close it; return the milliseconds, ``None`` where a proxy is used.

    Raises :class:`~ragctl.errors.ModelUnreachable` where none can be made in time.
    """
    if proxy_in_use(url):
        return None
    parts, began = urlsplit(url), clock()
    shown = without_password(url)
    try:
        place = (parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
        socket.create_connection(place, timeout=seconds).close()
    except TimeoutError as error:
        message = f"{shown} cannot be reached: connecting timed out"
        raise TimedOut(message, outcome="timeout (connect)") from error
    except OSError as error:
        message = f"no answer from {shown}: {error.strerror or error}"
        hint = "Check that it runs and that its address is right."
        raise ModelUnreachable(
            message, hint=hint, outcome="connection refused", may_clear=True
        ) from error
    return (clock() - began) * 1000
