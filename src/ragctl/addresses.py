"""Addresses of model servers: in all the forms people write them, and as they may be shown."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from ragctl.errors import SettingsError

DEFAULT_PORT: Final = 11434
_SCHEME_PORTS: Final = {"http": 80, "https": 443}
_HOST_NAME: Final = re.compile(r"[\w.-]+")
_USER_AND_PASSWORD: Final = re.compile(r"[^\s/@]*:[^\s/@]*@")


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
    if default_port is None or re.search(r"[\s?#\\]", rest) or re.search(r"[\[\]]", user):
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
    if address.scope_id and not _HOST_NAME.fullmatch(address.scope_id):
        raise ValueError(text)  # Python takes anything for the name of an interface
    return "[::1]" if address == ipaddress.IPv6Address("::") else f"[{text}]"


def is_loopback(url: str) -> bool:
    """Whether the address is this machine's own: 127.0.0.0/8, ``::1``, ``localhost`` and below."""
    host = host_of(url)
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


def host_of(url: str) -> str:
    """Return the host of an address in small letters, without port and brackets."""
    return (urlsplit(url).hostname or "").rstrip(".").lower()
