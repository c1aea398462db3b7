"""What the ``ragctl.toml`` of a checkout may not say: it may have come with somebody else's site.

It may describe the site. It may not send questions, texts or keys to a host that the user has not
allowed, hold a secret, name code or a place to write to, or undo what the user has set for the
safety of all sites. What the user allows stands in the user's own ``config.toml``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

from ragctl.addresses import normalise_host
from ragctl.errors import SettingsError
from ragctl.route_settings import NamedHost, require_allowed_hosts

if TYPE_CHECKING:
    from ragctl.settings import Settings

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


def require_harmless(settings: Settings, origin: str) -> None:
    """Refuse what a checkout's file may not say; ``origin`` is its path.

    Raises :class:`~ragctl.errors.SettingsError` with the line to add or to move.
    """
    for key, (why, line) in _NEVER.items():
        if settings.origin(key) == origin:
            raise SettingsError(
                f"{key} cannot be set in {origin}: {why}",
                hint=f"Set it in your own config.toml: ragctl config set --user {line}",
            )
    _require_no_secret(settings, origin)
    _require_own_template(settings, origin)
    named = [*_databases(settings, origin), *_models(settings, origin)]
    require_allowed_hosts(named, settings.gateway.allowed_hosts, origin=origin)


def _require_no_secret(settings: Settings, origin: str) -> None:
    values = {
        "ollama.url": (settings.ollama.url,),
        "embedding.url": (settings.embedding.url,),
        "embedding.fallback_urls": settings.embedding.fallback_urls,
    }
    for key in _ADDRESSES:
        if settings.origin(key) == origin and any(_USER.search(url) for url in values[key]):
            raise _secret(key, origin, "name a variable with embedding.api_key_env instead")
    if settings.origin("database.url") == origin:
        words = [word for word, _ in _keywords(settings.database.url)]
        if "password" in words or "sslpassword" in words or _PASSWORD.search(settings.database.url):
            raise _secret("database.url", origin, "put it into PGPASSWORD or ~/.pgpass")


def _secret(key: str, origin: str, instead: str) -> SettingsError:
    return SettingsError(
        f"{key} in {origin} holds a password: that file is shared with the site",
        hint=f"Take it out and {instead}, or set the whole address in your own config.toml "
        f"(ragctl config set --user {key} ADDRESS).",
    )


def _require_own_template(settings: Settings, origin: str) -> None:
    """Refuse a template outside the checkout: what stands in it is sent to a model."""
    key, prompt = "generation.prompt", settings.generation.prompt
    if settings.origin(key) != origin or prompt in ("", "balanced", "strict"):
        return
    folder = Path(os.path.normpath(Path(origin).parent))
    if not Path(os.path.normpath(prompt)).is_relative_to(folder):
        raise SettingsError(
            f"{key} in {origin} names a file outside {folder}",
            hint="Move the template beside the settings file, or set it in your own config.toml.",
        )


def _databases(settings: Settings, origin: str) -> Iterator[NamedHost]:
    if settings.origin("database.url") != origin:
        return
    for word, value in _keywords(settings.database.url):
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
    if found := _PLAIN_URL.fullmatch(url):
        user, _, password = (found["login"] or "").partition(":")
        hosts = [re.sub(r"(?<!:):\d*$|(?<=\]):\d*$", "", one) for one in found["hosts"].split(",")]
        listed = ",".join(unquote(one.strip("[]")) for one in hosts)
        words = [("user", unquote(user)), ("password", password), ("host", listed)]
        query = parse_qsl(found["query"] or "", keep_blank_values=True)
        return [(word, value) for word, value in words if value] + query
    if _PLAIN_WORDS.fullmatch(url):
        return _WORD.findall(url)
    return [("an unusual form", "")]


def _models(settings: Settings, origin: str) -> Iterator[NamedHost]:
    if settings.origin("ollama.url") == origin:
        yield _named("ollama.url", normalise_host(settings.ollama.url))
    embedding = settings.embedding
    gets_key = bool(embedding.api_key_env)
    if origin in {settings.origin(f"embedding.{name}") for name in ("url", "api_key_env")}:
        url = normalise_host(embedding.url) if embedding.url else ""
        yield _named("embedding.url", url, gets_key=gets_key)
    if settings.origin("embedding.fallback_urls") == origin:
        for url in embedding.fallback_urls:
            yield _named("embedding.fallback_urls", normalise_host(url), gets_key=gets_key)
    if settings.origin("routes") == origin:
        for route in settings.routes:
            if route.url or route.api_key_env:
                url = route.url or normalise_host(settings.ollama.url)
                yield _named(f"route {route.name!r}", url, gets_key=bool(route.api_key_env))


def _named(setting: str, url: str, *, gets_key: bool = False) -> NamedHost:
    return NamedHost(setting=setting, url=url, gets_key=gets_key)
