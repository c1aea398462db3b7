"""Settings: what they are, where they come from, and what they must look like.

``read`` is pure: flags, environment and the text of settings files go in, a frozen ``Settings``
comes out. Sources in order of precedence: flags, environment, ``ragctl.toml`` (nearest upwards),
the user's ``config.toml``, defaults.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ragctl.checkout_settings import KEPT_BY_ITS_USER, InForce, require_harmless
from ragctl.errors import SettingsError
from ragctl.route_settings import RouteSettings, read_routes, require_enough_time
from ragctl.setting_sections import (
    SECTIONS,
    CacheSettings,
    CheckSettings,
    ChunkingSettings,
    DatabaseSettings,
    EmbeddingSettings,
    GatewaySettings,
    GenerationSettings,
    LimitsSettings,
    OllamaSettings,
    RetrievalSettings,
    SiteSettings,
    TracesSettings,
)
from ragctl.setting_values import KnownSetting, checked

ENVIRONMENT_PREFIX = "RAGCTL_"
OTHER_VARIABLES = ("RAGCTL_DEBUG",)
TEST_PREFIX = "RAGCTL_TEST_"
ENVIRONMENT_ALIASES = {
    "RAGCTL_DATABASE_URL": "database.url",
    "RAGCTL_DATA_DIR": "database.data_dir",
    "OLLAMA_HOST": "ollama.url",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set; ``origins`` tells where each value came from.

    The keys of ``origins`` are ``section.key``; a value is ``default``, ``flag``, the name of an
    environment variable or the path of a file. ``routes`` come from one file, whole.
    """

    site: SiteSettings = field(default_factory=SiteSettings)
    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    ollama: OllamaSettings = field(default_factory=OllamaSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    generation: GenerationSettings = field(default_factory=GenerationSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    checks: CheckSettings = field(default_factory=CheckSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    traces: TracesSettings = field(default_factory=TracesSettings)
    limits: LimitsSettings = field(default_factory=LimitsSettings)
    routes: tuple[RouteSettings, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)

    def origin(self, key: str) -> str:
        """Where the value of ``section.key`` came from."""
        return self.origins.get(key, "default")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """The text of a settings file and where it lies; relative paths in it start at its folder.

    ``is_own`` says that it is the user's own: one found in a checkout is somebody else's, and may
    not send questions to hosts that the user has not allowed.
    """

    path: Path
    text: str
    is_own: bool = False


def known_settings() -> Iterator[KnownSetting]:
    """Yield every setting in the order of the sections."""
    for section, cls in SECTIONS.items():
        for declared in fields(cls):
            default = declared.default
            yield KnownSetting(
                key=f"{section}.{declared.name}",
                kind=type(default),
                default=default,
                **declared.metadata,
            )


_KNOWN = {known.key: known for known in known_settings()}


def read(
    *,
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    files: Sequence[SettingsFile] = (),
) -> Settings:
    """Return the settings in force.

    ``flags`` maps ``section.key`` to a value, ``None`` for a flag that was not given; ``files``
    come in order of precedence; what its user has set for the safety of all sites
    (:data:`~ragctl.checkout_settings.KEPT_BY_ITS_USER`) no checkout's file undoes.

    Raises :class:`~ragctl.errors.SettingsError` naming the key and its source for unknown keys, for
    values of the wrong kind or out of range, and for what a checkout's file may not name.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    routes: tuple[RouteSettings, ...] = ()
    for settings_file in reversed(files):
        origin = str(settings_file.path)
        document = _document(settings_file)
        if "routes" in document:
            routes = read_routes(document.pop("routes"), origin=origin)
            origins["routes"] = origin
        kept = () if settings_file.is_own else KEPT_BY_ITS_USER
        for key, value in _file_values(document, origin).items():
            if key in kept and key in values:
                continue
            values[key] = checked(_lookup(key, origin), value, origin, settings_file.path.parent)
            origins[key] = origin
    for variable, key, text in _environment_values(environ):
        values[key] = checked(_lookup(key, variable), text, variable, None)
        origins[key] = variable
    for key, value in flags.items():
        if value is not None:
            values[key] = checked(_lookup(key, "flag"), value, "flag", None)
            origins[key] = "flag"
    settings = _build(values, origins, routes)
    require_enough_time(routes, settings.gateway.budget_seconds)
    for settings_file in files:
        if not settings_file.is_own:
            require_harmless(_in_force(settings), str(settings_file.path))
    return settings


def _in_force(settings: Settings) -> InForce:
    values = {key: value_of(settings, key) for key in _KNOWN}
    return InForce(values=values, routes=settings.routes, origins=settings.origins)


def value_of(settings: Settings, key: str) -> Any:
    """Return the value of ``section.key``."""
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def _build(
    values: Mapping[str, Any], origins: Mapping[str, str], routes: tuple[RouteSettings, ...]
) -> Settings:
    sections: dict[str, Any] = {}
    for section, cls in SECTIONS.items():
        given = {
            key.partition(".")[2]: value
            for key, value in values.items()
            if key.partition(".")[0] == section
        }
        sections[section] = cls(**given)
    return Settings(**sections, routes=routes, origins=origins)


def _document(settings_file: SettingsFile) -> dict[str, Any]:
    try:
        return tomllib.loads(settings_file.text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(
            f"{settings_file.path} is not valid TOML: {error}",
            hint="Mend the line named above, or remove the file.",
        ) from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; deep nesting
        raise SettingsError(
            f"{settings_file.path} cannot be read as TOML: {error}",
            hint="Take out values that are nested very deeply and numbers that are very long.",
        ) from error


def _file_values(document: Mapping[str, Any], origin: str) -> dict[str, object]:
    values: dict[str, object] = {}
    for section, content in document.items():
        if section not in SECTIONS or not isinstance(content, dict):
            raise _unknown(section, origin, SECTIONS)
        for name, value in content.items():
            values[f"{section}.{name}"] = value
    return values


def _environment_values(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for variable, key in ENVIRONMENT_ALIASES.items():
        if environ.get(variable, ""):
            yield variable, key, environ[variable]
    for variable in sorted(environ):
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable.startswith(TEST_PREFIX):
            continue
        if "__" not in variable:
            _require_known_variable(variable)
        else:
            section, _, name = variable.removeprefix(ENVIRONMENT_PREFIX).lower().partition("__")
            yield variable, f"{section}.{name}", environ[variable]


def _require_known_variable(variable: str) -> None:
    known = (*ENVIRONMENT_ALIASES, *OTHER_VARIABLES)
    if variable in known:
        return
    spelled = {
        f"{ENVIRONMENT_PREFIX}{key.replace('.', '__').upper()}": None for key in _KNOWN
    } | dict.fromkeys(known)
    near = difflib.get_close_matches(variable, list(spelled), n=1, cutoff=0.5)
    raise SettingsError(
        f"unknown environment variable {variable}",
        hint=f"Did you mean {near[0]}?" if near else "Unset it, or see `ragctl config`.",
    )


def find_setting(key: str) -> KnownSetting:
    """Return the declaration of ``section.key``.

    Raises :class:`~ragctl.errors.SettingsError` with the nearest known name for another key.
    """
    return _lookup(key, "command line")


def _lookup(key: str, origin: str) -> KnownSetting:
    if key.partition(".")[0] == "routes":
        raise SettingsError(
            f"routes cannot be set one by one ({origin})",
            hint="Write [[routes]] tables into ragctl.toml or your own config.toml.",
        )
    if key not in _KNOWN:
        raise _unknown(key, origin, _KNOWN)
    return _KNOWN[key]


def _unknown(key: str, origin: str, known: Mapping[str, object]) -> SettingsError:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    suggestion = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
    return SettingsError(f"unknown setting {key!r} ({origin})", hint=suggestion)
