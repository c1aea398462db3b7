"""The ``[[routes]]`` of a settings file: who may write answers, in the order they are tried.

Reading is pure. A mistake is told with the file, the route and the key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, Final

from ragctl.addresses import host_of, is_loopback, normalise_host
from ragctl.errors import SettingsError

PROVIDERS: Final = ("ollama", "openai")
KEY_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME: Final = re.compile(r"[^\s|\x00-\x1f\x7f][^|\x00-\x1f\x7f]{0,79}")
_SECONDS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def _about(text: str, default: Any) -> Any:
    return field(default=default, metadata={"about": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteSettings:
    """One way to an answer: a model of a provider at an address, its limits and prices.

    ``api_key_env`` is the name of the environment variable that holds the key, never the key.
    """

    name: str = _about("name of the route as it is shown; unset, provider/model", "")
    provider: str = _about("ollama, or openai for any server with that interface", "ollama")
    url: str = _about("address of the server; unset, a route of ollama takes ollama.url", "")
    model: str = _about("model that writes; must be given", "")
    connect_seconds: float = _about("time to connect", 5.0)
    first_token_seconds: float = _about("time to the first token", 30.0)
    total_seconds: float = _about("time for the whole answer", 120.0)
    api_key_env: str = _about("name of the environment variable that holds the key", "")
    price_input_per_million: float | None = _about("US dollars for a million prompt tokens", None)
    price_output_per_million: float | None = _about("US dollars for a million output tokens", None)
    prices_read_on: str = _about("day on which you read the prices, as 2026-01-31", "")


ROUTE_KEYS: Final = tuple(declared.name for declared in fields(RouteSettings))


def seconds_of(text: str) -> str | float:
    """Return seconds for a number with a unit (``500ms``, ``30 s``, ``2min``), else the text."""
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _SECONDS:
        return text
    return float(match[1]) * _SECONDS[match[2]]


def read_routes(listed: object, *, origin: str) -> tuple[RouteSettings, ...]:
    """Return the routes of one file; raises :class:`~ragctl.errors.SettingsError`."""
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise SettingsError(
            f"routes must be tables ({origin})",
            hint="Write each route below a line [[routes]] of its own.",
        )
    routes = [_route(entry, number, origin) for number, entry in enumerate(listed, start=1)]
    names = [route.name for route in routes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(
            f"two routes have the name {twice!r} ({origin})",
            hint="Give one of them another name.",
        )
    return tuple(routes)


def require_enough_time(routes: Iterable[RouteSettings], budget_seconds: float) -> None:
    """Refuse routes that could not all be tried within the budget if the ones before them hang."""
    least = sum(
        min(one.connect_seconds + one.first_token_seconds, one.total_seconds) for one in routes
    )
    if least > budget_seconds:
        raise SettingsError(
            f"gateway.budget_seconds is {budget_seconds:g}, but the routes need {least:g} s to "
            "connect and to wait for a first token, one after the other",
            hint="Raise gateway.budget_seconds, or shorten connect_seconds and "
            "first_token_seconds of the routes.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedHost:
    """An address that a settings file names: by which setting, and whether a key goes there.

    ``host`` is its host where that is not what stands in ``url``, such as the path of a socket.
    """

    setting: str
    url: str
    host: str = ""
    gets_key: bool = False


def require_allowed_hosts(
    named: Iterable[NamedHost], allowed: Iterable[str], *, origin: str
) -> None:
    """Refuse addresses of a checkout's file that its user has not allowed.

    This machine needs no leave, unless a key would go there. Raises
    :class:`~ragctl.errors.SettingsError` with the line to add.
    """
    hosts = {host.strip().strip("[]").lower() for host in allowed}
    for one in named:
        host = one.host.lower() or host_of(one.url)
        if not host or host in hosts or (is_loopback(one.url) and not one.gets_key):
            continue
        sent = "a key" if one.gets_key else "questions"
        wanted = sorted({*hosts, host})
        line = ", ".join(f'"{name}"' for name in wanted)
        raise SettingsError(
            f"{one.setting} in {origin} would send {sent} to {host}, which you have not allowed",
            hint="If you trust it, add to your own config.toml, or run `ragctl config set --user "
            f"gateway.allowed_hosts {','.join(wanted)}`:\n  [gateway]\n  allowed_hosts = [{line}]",
        )


def _route(entry: Mapping[str, object], number: int, origin: str) -> RouteSettings:
    given = entry.get("name")
    place = f"route {given!r}" if isinstance(given, str) and given else f"route {number}"
    reader = _Reader(place, origin)
    for key in entry:
        if key not in ROUTE_KEYS:
            raise reader.unknown(key)
    values: dict[str, Any] = {
        key: _READERS[key](reader, key, value) for key, value in entry.items()
    }
    route = RouteSettings(**values)
    if not route.model:
        raise reader.refused("model", "must be given")
    if route.provider == "openai" and not route.url:
        raise reader.refused("url", "must be given where provider is openai")
    prices = (route.price_input_per_million, route.price_output_per_million)
    if (prices[0] is None) != (prices[1] is None):
        lacking = "input" if prices[0] is None else "output"
        raise reader.refused(f"price_{lacking}_per_million", "must be given beside the other price")
    named = route.name or f"{route.provider}/{route.model}"
    return RouteSettings(**{**values, "name": named})


class _Reader:
    """Checks the values of one route."""

    def __init__(self, place: str, origin: str) -> None:
        self._place = place
        self._origin = origin

    def refused(self, key: str, rule: str) -> SettingsError:
        about = {declared.name: declared.metadata["about"] for declared in fields(RouteSettings)}
        return SettingsError(
            f"{self._place}: {key} {rule} ({self._origin})", hint=f"{key}: {about[key]}."
        )

    def unknown(self, key: str) -> SettingsError:
        near = difflib.get_close_matches(key, ROUTE_KEYS, n=1, cutoff=0.5)
        if key in ("api_key", "key", "token"):
            near = ["api_key_env"]
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(ROUTE_KEYS)}."
        return SettingsError(f"{self._place}: unknown key {key!r} ({self._origin})", hint=hint)

    def text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise self.refused(key, f"must be a text, not {value!r}")
        return value.strip()

    def name(self, key: str, value: object) -> str:
        text = self.text(key, value)
        if text and not _NAME.fullmatch(text):
            raise self.refused(key, "must be a name of at most 80 characters, without |")
        return text

    def provider(self, key: str, value: object) -> str:
        if value not in PROVIDERS:
            raise self.refused(key, f"must be one of: {', '.join(PROVIDERS)}, not {value!r}")
        return self.text(key, value)

    def url(self, key: str, value: object) -> str:
        text = self.text(key, value)
        if "@" in text.partition("://")[2].partition("/")[0]:
            raise self.refused(key, "must hold no user and no password; name a variable instead")
        try:
            address = normalise_host(text)
            is_whole = bool(re.match("https?://[^/:]", text, re.I)) and bool(host_of(address))
        except (SettingsError, ValueError):
            is_whole = False
        if not is_whole:
            raise self.refused(key, f"must be an address such as http://host:port, not {text!r}")
        return address

    def seconds(self, key: str, value: object) -> float:
        number = self._number(key, seconds_of(value) if isinstance(value, str) else value)
        if not 0.01 <= number <= 86_400:
            raise self.refused(key, f"must be from 0.01 to 86,400 seconds, not {value!r}")
        return number

    def price(self, key: str, value: object) -> float:
        number = self._number(key, value)
        if not 0 <= number < 1e6:
            raise self.refused(key, f"must be at least 0, not {value!r}")
        return number

    def _number(self, key: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused(key, f"must be a number, not {value!r}")
        return float(value)

    def key_name(self, key: str, value: object) -> str:
        text = self.text(key, value)
        if text and not KEY_NAME.fullmatch(text):  # perhaps the key itself: not to be repeated
            raise self.refused(key, "must be the name of an environment variable, not a key")
        return text

    def day(self, key: str, value: object) -> str:
        try:
            return date.fromisoformat(str(value)).isoformat()
        except ValueError:
            raise self.refused(key, f"must be a day such as 2026-01-31, not {value!r}") from None


_READERS: Final[Mapping[str, Callable[[_Reader, str, object], object]]] = {
    "name": _Reader.name,
    "provider": _Reader.provider,
    "url": _Reader.url,
    "model": _Reader.text,
    "connect_seconds": _Reader.seconds,
    "first_token_seconds": _Reader.seconds,
    "total_seconds": _Reader.seconds,
    "api_key_env": _Reader.key_name,
    "price_input_per_million": _Reader.price,
    "price_output_per_million": _Reader.price,
    "prices_read_on": _Reader.day,
}
