"""What the ``ragctl.toml`` of a checkout may not say: it may have come with somebody else's site.

It may describe the site. It may not send questions, texts or keys to a host that the user has not
allowed, hold a secret, name code or a place to write to, or undo what the user has set for the
safety of all sites. What the user allows stands in the user's own ``config.toml``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from ragctl.addresses import normalise_host
from ragctl.errors import SettingsError
from ragctl.route_settings import NamedHost, RouteSettings, require_allowed_hosts

KEPT_BY_ITS_USER: Final = (
    *("checks.allowed_hosts", "checks.block", "checks.strict_citations"),
    *("limits.generations", "limits.questions_per_minute", "limits.queue_seconds", "limits.user"),
    *("traces.record", "traces.keep_days", "traces.keep_text_days"),
)
"""What holds for all sites once the user's own file sets it: no checkout undoes it."""

_NEVER: Final = {
    "gateway.allowed_hosts": ("a checkout cannot allow itself", "gateway.allowed_hosts HOST"),
    "database.data_dir": (
        "the settings of the server in that folder can run programs",
        "database.data_dir FOLDER",
    ),
}
"""What is refused, why, and how the user sets it."""

_ADDRESSES: Final = ("ollama.url", "embedding.url", "embedding.fallback_urls")
_PASSWORD: Final = re.compile(r"(?i)password\s*=|//[^/@]*:[^/]*@")
_USER: Final = re.compile(r"(?:^|//)[^/?#]*@")
_PLAIN_URL: Final = re.compile(
    r"postgres(?:ql)?://(?:(?P<login>[^@/?#\\\s]*)@)?(?P<hosts>[^@/?#\\\s]*)"
    r"(?:/[^@/?#\\\s]*)?(?:\?(?P<query>[^@#\\\s;]*))?"
)
_WORD: Final = re.compile(r"(\w+)\s*=\s*([^\s'\\]*)")
_PLAIN_WORDS: Final = re.compile(rf"\s*(?:{_WORD.pattern}\s*)+")
_PLAIN_KEYWORDS: Final = frozenset(
    ("host", "hostaddr", "port", "dbname", "user", "sslmode", "connect_timeout", "channel_binding")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """The settings in force by ``section.key``, with their routes and where each came from."""

    values: Mapping[str, Any]
    routes: tuple[RouteSettings, ...]
    origins: Mapping[str, str]

    def come_from(self, origin: str, *keys: str) -> bool:
        """Tell whether one of the settings stands in the file ``origin``."""
        return origin in {self.origins.get(key) for key in keys}


def require_harmless(found: InForce, origin: str) -> None:
    """Refuse what a checkout's file may not say; ``origin`` is its path.

    Raises :class:`~ragctl.errors.SettingsError` with the line to add or to move.
    """
    for key, (why, line) in _NEVER.items():
        if found.come_from(origin, key):
            raise SettingsError(
                f"{key} cannot be set in {origin}: {why}",
                hint=f"Set it in your own config.toml: ragctl config set --user {line}",
            )
    _require_no_secret(found, origin)
    _require_own_template(found, origin)
    named = [*_databases(found, origin), *_models(found, origin)]
    require_allowed_hosts(named, found.values["gateway.allowed_hosts"], origin=origin)


def _require_no_secret(found: InForce, origin: str) -> None:
    values = {
        "ollama.url": (found.values["ollama.url"],),
        "embedding.url": (found.values["embedding.url"],),
        "embedding.fallback_urls": found.values["embedding.fallback_urls"],
    }
    for key in _ADDRESSES:
        if found.come_from(origin, key) and any(_USER.search(url) for url in values[key]):
            raise _secret(key, origin, "name a variable with embedding.api_key_env instead")
    if found.come_from(origin, "database.url"):
        words = [word for word, _ in _keywords(found.values["database.url"])]
        if (
            "password" in words
            or "sslpassword" in words
            or _PASSWORD.search(found.values["database.url"])
        ):
            raise _secret("database.url", origin, "put it into PGPASSWORD or ~/.pgpass")


def _secret(key: str, origin: str, instead: str) -> SettingsError:
    return SettingsError(
        f"{key} in {origin} holds a password: that file is shared with the site",
        hint=f"Take it out and {instead}, or set the whole address in your own config.toml "
        f"(ragctl config set --user {key} ADDRESS).",
    )


def _require_own_template(found: InForce, origin: str) -> None:
    """Refuse a template outside the checkout: what stands in it is sent to a model."""
    key, prompt = "generation.prompt", found.values["generation.prompt"]
    if not found.come_from(origin, key) or prompt in ("", "balanced", "strict"):
        return
    folder = Path(os.path.normpath(Path(origin).parent))
    if not Path(os.path.normpath(prompt)).is_relative_to(folder):
        raise SettingsError(
            f"{key} in {origin} names a file outside {folder}",
            hint="Move the template beside the settings file, or set it in your own config.toml.",
        )


def _databases(found: InForce, origin: str) -> Iterator[NamedHost]:
    if not found.come_from(origin, "database.url"):
        return
    for word, value in _keywords(found.values["database.url"]):
        if word in ("host", "hostaddr"):
            for host in filter(None, value.split(",")):
                url = f"//[{host}]" if ":" in host else f"//{host}"
                yield NamedHost(setting="database.url", url=url, host=host)
        elif word not in _PLAIN_KEYWORDS or "=" in value or "://" in value:
            raise _unusual(origin, f"sets {word}")


def _unusual(origin: str, what: str) -> SettingsError:
    return SettingsError(
        f"database.url in {origin} {what}, which a checkout may not",
        hint="Set the address in your own config.toml: "
        "ragctl config set --user database.url ADDRESS",
    )


def _keywords(url: str) -> list[tuple[str, str]]:
    """Return the parameters of a database address, in either of libpq's two forms.

    libpq reads odd addresses otherwise than others do (``//127.0.0.1?x@elsewhere/``): what is not
    plainly of one form comes back as the parameter ``an unusual form``.
    """
    if not url:
        return []
    if match := _PLAIN_URL.fullmatch(url):
        user, _, password = (match["login"] or "").partition(":")
        hosts = [re.sub(r"(?<!:):\d*$|(?<=\]):\d*$", "", one) for one in match["hosts"].split(",")]
        listed = ",".join(unquote(one.strip("[]")) for one in hosts)
        words = [("user", unquote(user)), ("password", password), ("host", listed)]
        query = parse_qsl(match["query"] or "", keep_blank_values=True)
        return [(word, value) for word, value in words if value] + query
    if _PLAIN_WORDS.fullmatch(url):
        return _WORD.findall(url)
    return [("an unusual form", "")]


def _models(found: InForce, origin: str) -> Iterator[NamedHost]:
    if found.come_from(origin, "ollama.url"):
        yield _named("ollama.url", normalise_host(found.values["ollama.url"]))
    gets_key = bool(found.values["embedding.api_key_env"])
    if found.come_from(origin, "embedding.url", "embedding.api_key_env"):
        url = normalise_host(url) if (url := found.values["embedding.url"]) else ""
        yield _named("embedding.url", url, gets_key=gets_key)
    if found.come_from(origin, "embedding.fallback_urls"):
        for url in found.values["embedding.fallback_urls"]:
            yield _named("embedding.fallback_urls", normalise_host(url), gets_key=gets_key)
    if found.come_from(origin, "routes"):
        for route in found.routes:
            if route.url or route.api_key_env:
                url = route.url or normalise_host(found.values["ollama.url"])
                yield _named(f"route {route.name!r}", url, gets_key=bool(route.api_key_env))


def _named(setting: str, url: str, *, gets_key: bool = False) -> NamedHost:
    return NamedHost(setting=setting, url=url, gets_key=gets_key)
