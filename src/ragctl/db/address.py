"""Database addresses and the passwords in them: never shown, never on a command line.

An address is a URI or ``name=value`` pairs (libpq's conninfo), right or mistyped: what is wrong
with it must not bring its password to light.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

_USER: Final = re.compile(r"((?:^|://)[^/:@\s=]*):(?!//)(.*)@")
_NAMED: Final = re.compile(
    r"""(?i)((?:ssl)?password\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|[^&\s\\])*)"""
)
_BARE_WORD: Final = re.compile(r"[^\s:/=]+")
_UNENCODED: Final = re.compile(r"[@/]|%(?![0-9A-Fa-f]{2})")


def redacted(text: str) -> str:
    """Return an address, or a text with one in it, without its password."""
    return _NAMED.sub(r"\1***", _USER.sub(r"\1@", text))


def shown(url: str) -> str:
    """Return an address for a message; what is no address at all may be anything."""
    return "***" if _BARE_WORD.fullmatch(url) else redacted(url)


def without_password(url: str) -> str:
    """Return an address that works wherever the password comes from elsewhere."""
    url = _USER.sub(r"\1@", url)
    if "://" in url:
        url = re.sub(r"([?&])(?:ssl)?password=[^&]*&?", r"\1", url)
        return url.rstrip("?&")
    return _NAMED.sub("", url).strip()


def password_of(url: str) -> str | None:
    """Return the password that an address holds, decoded; ``None`` where it holds none."""
    try:
        found = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        return None
    return None if found is None else str(found)


def has_unencoded_password(url: str) -> bool:
    """Tell whether a URI has a password that libpq takes for something else."""
    found = _USER.search(url)
    return found is not None and "://" in url and _UNENCODED.search(found[2]) is not None
