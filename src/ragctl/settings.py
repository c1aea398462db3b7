"""Settings: what they are, where they come from, and what they must look like.

``read`` is pure: flags, environment and the text of settings files go in, a frozen ``Settings``
comes out. Sources in order of precedence: flags, environment, ``ragctl.toml`` (nearest upwards),
the user's ``config.toml``, defaults.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from ragctl.addresses import without_password
from ragctl.checkout_settings import KEPT_BY_ITS_USER, InForce, require_harmless
from ragctl.errors import SettingsError
from ragctl.route_settings import (
    KEY_NAME,
    RouteSettings,
    read_routes,
    require_enough_time,
    seconds_of,
)

DAY = 86_400
MOST_DAYS = 36_500
MOST_TOKENS = 4_000_000
MOST_ROWS = 1_000_000_000
"""What settings end at: beyond it neither a timer, the database nor a model takes the number."""

ENVIRONMENT_PREFIX = "RAGCTL_"
OTHER_VARIABLES = ("RAGCTL_DEBUG",)
TEST_PREFIX = "RAGCTL_TEST_"
ENVIRONMENT_ALIASES = {
    "RAGCTL_DATABASE_URL": "database.url",
    "RAGCTL_DATA_DIR": "database.data_dir",
    "OLLAMA_HOST": "ollama.url",
}


def _setting(
    default: Any,
    about: str,
    *,
    choices: tuple[str, ...] = (),
    minimum: float | None = None,
    maximum: float | None = None,
    is_path: bool = False,
) -> Any:
    metadata = {
        "about": about,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "is_path": is_path,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What is read, and how its pages are addressed."""

    name: str = _setting("default", "name of the site; each has a database of its own")
    root: str = _setting("", "content folder that `ragctl ingest` reads", is_path=True)
    tracks: tuple[str, ...] = _setting((), "tracks to read; empty means all")
    exclude: tuple[str, ...] = _setting((), "patterns of files to leave out, below the root")
    base_url: str = _setting("", "address of the published site, put before every link")
    url_style: str = _setting(
        "plain",
        "how pages are addressed: plain (/a/b), slash (/a/b/) or html (/a/b.html)",
        choices=("plain", "slash", "html"),
    )
    slugs: str = _setting(
        "github",
        "whose rules make the anchors of headings: github, hugo, hugo-source, docusaurus, "
        "mkdocs, mkdocs-unicode, or a class of your own as package.module:Class",
    )
    dist: str = _setting(
        "", "folder of the built site; with it set, `ragctl ingest` checks every link", is_path=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSettings:
    """Where pages and passages are kept."""

    url: str = _setting("", "a PostgreSQL with pgvector; empty means the embedded server")
    data_dir: str = _setting("", "folder of the embedded server and models", is_path=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaSettings:
    """The Ollama server."""

    url: str = _setting("http://127.0.0.1:11434", "address of the Ollama server")
    connect_seconds: float = _setting(5.0, "time to connect", minimum=0.01, maximum=DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """The model that turns texts into vectors."""

    provider: str = _setting(
        "auto",
        "who embeds: auto, ollama, local, or openai for any server with that interface",
        choices=("auto", "ollama", "local", "openai"),
    )
    model: str = _setting("", "embedding model; empty means the provider's default")
    url: str = _setting("", "address of the server where the provider is openai")
    api_key_env: str = _setting(
        "", "name of the environment variable that holds the key of that server"
    )
    fallback_urls: tuple[str, ...] = _setting(
        (), "further addresses of the same embedding model, tried in order where one fails"
    )
    batch_size: int = _setting(32, "texts a request", minimum=1, maximum=1024)
    in_flight: int = _setting(2, "requests at once", minimum=1, maximum=64)
    timeout_seconds: float = _setting(300.0, "time for one request", minimum=0.01, maximum=DAY)
    threads: int = _setting(
        0, "threads of the embedded model; 0 means all cores", minimum=0, maximum=1024
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """The model that writes answers."""

    provider: str = _setting(
        "auto",
        "who writes: auto, ollama or extractive",
        choices=("auto", "ollama", "extractive"),
    )
    model: str = _setting("llama3", "model that writes the answer")
    prompt: str = _setting(
        "balanced",
        "prompt: balanced, strict, or the path of a file with a template of your own",
        choices=("balanced", "strict"),
        is_path=True,
    )
    num_ctx: int = _setting(4096, "context window in tokens", minimum=256, maximum=MOST_TOKENS)
    num_predict: int = _setting(512, "longest answer in tokens", minimum=1, maximum=MOST_TOKENS)
    prompt_tokens: int = _setting(
        1500,
        "longest prompt in tokens, by our own count; whole passages are left out",
        minimum=256,
        maximum=MOST_TOKENS,
    )
    first_token_seconds: float = _setting(
        120.0, "time to the first token", minimum=0.01, maximum=DAY
    )
    stall_seconds: float = _setting(
        30.0, "longest silence after the first token", minimum=0.01, maximum=DAY
    )
    total_seconds: float = _setting(300.0, "time for the whole answer", minimum=0.01, maximum=DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """How the routes to an answer share the time, and whom a checkout may name."""

    budget_seconds: float = _setting(
        300.0, "time for one answer over all routes and retries", minimum=0.01, maximum=DAY
    )
    retries: int = _setting(
        1, "how often a route is asked again after an error that may clear", minimum=0, maximum=5
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "hosts of model servers and databases that a ragctl.toml may name beside this machine; "
        "not to be set in a ragctl.toml",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkingSettings:
    """How pages are cut into passages."""

    chunker: str = _setting(
        "structured",
        "how to cut: structured, fixed or window",
        choices=("structured", "fixed", "window"),
    )
    size: int = _setting(
        1300,
        "passage size in characters; unset, fixed takes 800 and window 400 words",
        minimum=1,
        maximum=1_000_000,
    )
    overlap: int = _setting(
        0,
        "characters (window: words) carried over; unset, fixed takes 100; structured has none",
        minimum=0,
        maximum=1_000_000,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """How passages are found."""

    mode: str = _setting(
        "hybrid",
        "what finds passages: hybrid, vector (the nearest alone) or keyword (needs no model)",
        choices=("hybrid", "vector", "keyword"),
    )
    k: int = _setting(5, "passages for an answer", minimum=1, maximum=100)
    least_share: float = _setting(
        0.65,
        "hybrid: the last passages, below this share of the best score, are not sent; unset, only "
        "with an embedding model that is calibrated",
        minimum=0.0,
        maximum=1.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSettings:
    """What is looked for in every answer, and what of it withholds one."""

    allowed_hosts: tuple[str, ...] = _setting(
        (),
        "hosts an answer may name although neither the site nor a passage does; "
        "*.host allows all below one",
    )
    block: tuple[str, ...] = _setting(
        (),
        "problems that withhold an answer: foreign_host, instructions, no_citation, unsupported; "
        "secret masks secrets",
        choices=("foreign_host", "secret", "instructions", "no_citation", "unsupported"),
    )
    strict_citations: bool = _setting(
        False, "leave out of an answer what the check found to have no support"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What is kept so that it need not be computed again."""

    answers: str = _setting(
        "on",
        "on: an answer is given again while what it was made from stands; "
        "needs traces.record = on, for it keeps texts",
        choices=("on", "off"),
    )
    answer_days: int = _setting(
        7, "days after which an answer is written anew", minimum=1, maximum=MOST_DAYS
    )
    most_answers: int = _setting(1000, "answers kept at most", minimum=1, maximum=MOST_ROWS)
    embeddings: str = _setting(
        "on",
        "on: the vector of a question is kept, under a hash of its text",
        choices=("on", "off"),
    )
    embedding_days: int = _setting(
        90, "days after which a vector that was not used is dropped", minimum=1, maximum=MOST_DAYS
    )
    most_embeddings: int = _setting(
        10_000, "vectors of questions kept at most", minimum=1, maximum=MOST_ROWS
    )
    semantic: str = _setting(
        "off",
        "what a question close to an earlier one is worth: off, hint (says so) "
        "or answer (gives the answer to that one)",
        choices=("off", "hint", "answer"),
    )
    threshold: float = _setting(
        0.8, "least cosine of a question that may be the same", minimum=0.5, maximum=1.0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TracesSettings:
    """What is kept of the questions that were asked."""

    record: str = _setting(
        "on",
        "what `ragctl trace` can show later: on, numbers (scores and durations, no texts) or off",
        choices=("on", "numbers", "off"),
    )
    keep_days: int = _setting(
        90, "days a trace is kept; 0 means for ever", minimum=0, maximum=MOST_DAYS
    )
    keep_text_days: int = _setting(
        30,
        "days its texts are kept: question, prompt, answer; 0 means as long as the trace",
        minimum=0,
        maximum=MOST_DAYS,
    )
    sample: float = _setting(
        1.0,
        "share of ordinary answers whose texts are kept; failed, slow, refused and flagged ones "
        "always keep them",
        minimum=0.0,
        maximum=1.0,
    )
    slow_ms: float = _setting(
        10000.0, "milliseconds over which an answer counts as slow", minimum=0.0, maximum=DAY * 1000
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSettings:
    """How many may ask at once, and how often."""

    generations: int = _setting(
        0,
        "answers that models write at once, over all processes of a database; further questions "
        "wait in line; 0 means any number",
        minimum=0,
        maximum=MOST_ROWS,
    )
    queue_seconds: float = _setting(
        60.0, "longest wait in that line; then the passages are quoted", minimum=0.0, maximum=DAY
    )
    questions_per_minute: int = _setting(
        0, "questions a user may ask in a minute; 0 means any number", minimum=0, maximum=MOST_ROWS
    )
    user: str = _setting("", "whose questions these are; empty means the user of this machine")


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


SECTIONS: dict[str, type[Any]] = {
    "site": SiteSettings,
    "database": DatabaseSettings,
    "ollama": OllamaSettings,
    "embedding": EmbeddingSettings,
    "generation": GenerationSettings,
    "gateway": GatewaySettings,
    "chunking": ChunkingSettings,
    "retrieval": RetrievalSettings,
    "checks": CheckSettings,
    "cache": CacheSettings,
    "traces": TracesSettings,
    "limits": LimitsSettings,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """The text of a settings file and where it lies; relative paths in it start at its folder.

    ``is_own`` says that it is the user's own: one found in a checkout is somebody else's, and may
    not send questions to hosts that the user has not allowed.
    """

    path: Path
    text: str
    is_own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSetting:
    """One setting as declared: its key, type, default, meaning and limits.

    With ``choices`` and ``is_path``, one of these words or a path.
    """

    key: str
    kind: type[Any]
    default: Any
    about: str
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    is_path: bool


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
            values[key] = _checked(_lookup(key, origin), value, origin, settings_file.path.parent)
            origins[key] = origin
    for variable, key, text in _environment_values(environ):
        values[key] = _checked(_lookup(key, variable), text, variable, None)
        origins[key] = variable
    for key, value in flags.items():
        if value is not None:
            values[key] = _checked(_lookup(key, "flag"), value, "flag", None)
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


def _checked(known: KnownSetting, value: object, origin: str, folder: Path | None) -> Any:
    converted = _converted(known, value, origin)
    chosen = converted if isinstance(converted, tuple) else (converted,)
    if known.choices and not known.is_path and not set(chosen) <= set(known.choices):
        choices = ", ".join(known.choices)
        raise _refused(known, value, origin, f"must be one of: {choices}")
    if isinstance(converted, int | float):
        if known.minimum is not None and converted < known.minimum:
            raise _refused(known, value, origin, f"must be at least {known.minimum:,.12g}")
        if known.maximum is not None and converted > known.maximum:
            raise _refused(known, value, origin, f"must be at most {known.maximum:,.12g}")
    if known.key == "site.base_url" and converted and not _is_web_address(converted):
        raise _refused(known, value, origin, "must be an address such as https://site.example")
    if known.key == "embedding.api_key_env" and converted and not KEY_NAME.fullmatch(converted):
        raise SettingsError(  # perhaps the key itself: not to be repeated
            f"{known.key} must be the name of an environment variable, not a key ({origin})",
            hint=f"{known.key}: {known.about}.",
        )
    if known.is_path and converted and converted not in known.choices:
        converted = _path(known, cast(str, converted), origin, folder)
    return converted


def _path(known: KnownSetting, value: str, origin: str, folder: Path | None) -> str:
    if "\0" in value:
        raise _refused(known, value, origin, "must be a path")
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise _refused(known, value, origin, "must be the path of a user who exists") from None
    return str(folder / path if folder is not None else path)


def _converted(known: KnownSetting, value: object, origin: str) -> Any:
    if known.kind is tuple:
        return _texts(known, value, origin)
    if isinstance(value, str) and known.kind is str:
        return value.strip()
    if known.kind is bool:
        return _truth(known, value, origin)
    if isinstance(value, str) and known.key.endswith("_seconds"):
        value = seconds_of(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str) or known.kind is str:
        raise _refused(known, value, origin, f"must be {_kind_name(known)}")
    try:
        number = known.kind(value)
    except (ValueError, OverflowError):
        raise _refused(known, value, origin, f"must be {_kind_name(known)}") from None
    if known.kind is int and isinstance(value, float) and number != value:
        raise _refused(known, value, origin, "must be a whole number")
    if number != number:
        raise _refused(known, value, origin, "must be a number")
    return number


def _truth(known: KnownSetting, value: object, origin: str) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word not in _TRUTHS:
        raise _refused(known, value, origin, "must be true or false")
    return _TRUTHS[word]


_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_WEB_ADDRESS = re.compile(
    r"https?://[^\s/?#@\\\"<>%\x00-\x20\x7f]+(?:/[^\s?#@\\\"<>\x00-\x20\x7f]*)?"
)


def _is_web_address(text: str) -> bool:
    """Whether links may begin with a text: control characters would reach the terminal."""
    try:
        has_host = bool(urlsplit(text).hostname)
    except ValueError:  # brackets that hold no address
        return False
    return has_host and text.isprintable() and bool(_WEB_ADDRESS.fullmatch(text))


def _texts(known: KnownSetting, value: object, origin: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise _refused(known, value, origin, "must be a list of texts")


def _kind_name(known: KnownSetting) -> str:
    return {str: "a text", int: "a whole number", float: "a number of seconds"}[known.kind]


def _refused(known: KnownSetting, value: object, origin: str, rule: str) -> SettingsError:
    shown = without_password(value) if isinstance(value, str) and "://" in value else value
    return SettingsError(
        f"{known.key} {rule}, not {shown!r} ({origin})", hint=f"{known.key}: {known.about}."
    )
