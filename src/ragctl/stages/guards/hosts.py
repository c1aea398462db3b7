"""Which hosts a text leads to, written as links, bare, or made to look like others.

Read are addresses with a scheme (``https://user@host:port/``, also with backslashes), targets of
links without one (``](//host/x)``), and bare names (``www.host``, ``host.com``) where they can
hardly be file names, versions or code: ``README.md``, ``std::io`` and ``e.g.`` are no hosts.
A host is compared as a browser reads it: lower case, without user, port, ``www.`` and final dot,
in punycode (RFC 3490), so that letters of another alphabet make another host.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

_SURE_ENDING = re.compile(
    "com|net|org|edu|gov|mil|biz|xyz|onion|example|invalid|de|fr|uk|ru|cn|jp|eu|nl|br|kr"
)
"""Last labels that hardly anything but a host has."""

_DOUBTFUL_ENDING = re.compile(
    "io|ai|dev|app|run|co|us|tv|me|ch|at|be|ca|au|se|info|cloud|site|online|shop|store|tech|top"
    "|live|link|club|page|test"
)
"""Last labels that attributes and products have as well: these need three labels or a path."""

_REVERSED: Final = frozenset(["com", "org", "net", "edu", "io", "dev", "java", "javax"])
"""First labels of package names, which are hosts written backwards."""

_NOT_HOSTS: Final = frozenset(("asp.net", "vb.net", "ado.net", "ml.net", "java.net", "system.net"))

_ADDRESS = re.compile(
    r"""(?:(?<![\w+.-])[a-z][a-z0-9+.-]{1,30}:[/\\]{2}(?![/\\])|\bhttps?:[/\\]+"""
    r"""|(?:\](?:\(|:)\s*<?|(?:href|src)\s*=\s*["']?)\s*(?:https?:|[/\\]{2,}))"""
    r"""([^\s/\\?#<>"'`)|,;*]+)""",
    re.IGNORECASE,
)
_RUNNING = re.compile(
    r"""(?:\](?:\(|:)\s*<?|(?:href|src)\s*=\s*["']?)\s*((?:javascript|vbscript|data|file|blob):)""",
    re.IGNORECASE,
)
"""Targets of links that lead to no host: they run, hold or open something."""

_BARE = re.compile(
    r"(?<![\w./:\\$&=\u200d-])((?:[\w-]{1,63}\.){1,9}[^\W\d_][\w-]{1,62})(?![\w(:]|\.\w|-\w)"
    r"(?=(:\d{1,5})?(/)?)"
)
_LABEL = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?|_[\w-]{1,61}")
_UNSEEN = re.compile("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]")
_DOTS = re.compile("[\u3002\uff0e\uff61]")


def foreign_hosts(
    text: str, *, site: str, allowed: Iterable[str], passages: Iterable[str]
) -> tuple[str, ...]:
    """Return the hosts of ``text`` that are not the site's, not allowed and in no passage.

    ``site`` is the site's address, ``allowed`` are hosts, ``*.host`` for all below one.
    """
    known = {host for entry in (site, *allowed) if (host := canonical(_host_part(entry)))}
    below = tuple(f".{host[2:]}" for host in known if host.startswith("*."))
    found = [host for host in hosts_in(text) if host not in known and not host.endswith(below)]
    if found:
        named = {host for passage in passages for host in _named_in(passage)}
        found = [host for host in found if host not in named]
    return tuple(found)


def hosts_in(text: str) -> tuple[str, ...]:
    """Return the hosts that a text leads to, in order, as :func:`canonical` writes them.

    A link that leads to none but runs or opens something is named by its scheme: ``javascript:``.
    """
    seen = _plain(text)
    found = [*_addressed(seen), *_bare(_ADDRESS.sub(_blank, seen)), *_running(seen)]
    return tuple(dict.fromkeys(host for _, host in sorted(found)))


def canonical(host: str) -> str:
    """Return a host as a browser reads it, ``""`` for what is none (``<host>``, ``...``)."""
    host = _DOTS.sub(".", unquote(host)).rpartition("@")[2].strip().casefold()
    if host.startswith("["):
        inside = host[1:].partition("]")[0]
        return f"[{inside}]" if re.fullmatch(r"[0-9a-f:.%]+", inside) and ":" in inside else ""
    host = host.partition(":")[0].strip(".").removeprefix("www.")
    labels = host.removeprefix("*.").split(".")
    if not all(_LABEL.fullmatch(label) for label in labels):
        return ""
    try:
        return host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def _plain(text: str) -> str:
    """Undo what hides a host from a reader of the text: entities, wide letters, unseen ones."""
    return unicodedata.normalize("NFKC", _UNSEEN.sub("", html.unescape(text)))


def _host_part(entry: str) -> str:
    """Return the host of an address or of a host that stands alone."""
    return re.split(r"[/\\?#]", entry.strip().rpartition("://")[2], maxsplit=1)[0]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _addressed(text: str) -> Iterator[tuple[int, str]]:
    for match in _ADDRESS.finditer(text):
        if host := canonical(match[1].rstrip(".:!]}")):
            yield match.start(), host


def _running(text: str) -> Iterator[tuple[int, str]]:
    for match in _RUNNING.finditer(re.sub(r"[\t\r\x00]", "", text)):
        yield match.start(), match[1].lower()


def _bare(text: str) -> Iterator[tuple[int, str]]:
    for match in _BARE.finditer(_DOTS.sub(".", text)):
        host = _without_text_before(match[1])
        labels = host.casefold().split(".")
        is_sure = (
            _SURE_ENDING.fullmatch(labels[-1]) or labels[0] == "www" or "xn--" in host.casefold()
        )
        in_place = len(labels) > 2 or match[2] is not None or match[3] is not None
        is_doubtful = _DOUBTFUL_ENDING.fullmatch(labels[-1]) and labels[0] not in _REVERSED
        if is_sure or (is_doubtful and in_place):
            read = canonical(host)
            if read and read not in _NOT_HOSTS:
                yield match.start(), read


def _without_text_before(host: str) -> str:
    """Drop what a script without blanks puts before an ASCII host."""
    if host.isascii():
        return host
    first, dot, rest = host.partition(".")
    tail = re.search(r"[a-zA-Z0-9-]+$", first)
    wide = tail and all(unicodedata.east_asian_width(c) in "WF" for c in first[: tail.start()])
    return f"{tail[0]}{dot}{rest}" if tail and wide else host


def _named_in(passage: str) -> Iterator[str]:
    """Yield what may be a host in a passage; file names are none there either."""
    seen = _plain(passage)
    yield from (host for _, host in (*_addressed(seen), *_running(seen)))
    for match in _BARE.finditer(_ADDRESS.sub(_blank, seen)):
        ending = match[1].rpartition(".")[2].casefold()
        if _SURE_ENDING.fullmatch(ending) or _DOUBTFUL_ENDING.fullmatch(ending):
            yield canonical(match[1])
