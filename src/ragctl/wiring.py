"""From settings to working parts: the only module that names concrete classes.

It also holds what surrounds a run of the program: where settings files lie, which database a
site has, and which models ``auto`` stands for. Model clients are imported where they are chosen:
a command that needs no model must not pay for loading one.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ragctl.db import backup, embedded
from ragctl.db.connect import Connection, connect, server_facts
from ragctl.db.database import Database
from ragctl.db.embedded import connect_embedded, create_database, database_name
from ragctl.db.migrate import migrate, set_foreign_table_aside
from ragctl.db.server import EmbeddedServer
from ragctl.db.statements import Migration
from ragctl.errors import (
    ContentError,
    DatabaseMissing,
    IndexMismatch,
    ModelError,
    ModelMissing,
    SettingsError,
)
from ragctl.protocols import Chunker, Embedder, Generator, Parser
from ragctl.records import IndexIdentity, LinkStyle, SiteSummary, UrlStyle
from ragctl.settings import Settings, SettingsFile, read
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.chunk.window import WindowChunker
from ragctl.stages.generate import ExtractiveGenerator
from ragctl.stages.parse import MarkdownParser
from ragctl.stages.parse.sluggers import SLUGGERS
from ragctl.stages.repetition import RepetitionGuard

if TYPE_CHECKING:
    from ragctl.models.ollama import OllamaClient

__all__ = ["server_facts"]

SETTINGS_NAME = "ragctl.toml"
DEFAULT_OLLAMA_MODEL = "nomic-embed-text"
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(Generic[Part]):
    """A part, the line that tells the user of it, and why no better one was chosen.

    Both texts are empty where there is nothing to tell.
    """

    part: Part
    remark: str = ""
    reason: str = ""


# Settings ------------------------------------------------------------------------------------


def load_settings(
    flags: Mapping[str, object],
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Return the settings in force in a folder (default: here, with this environment)."""
    environ = os.environ if environ is None else environ
    folder = Path.cwd() if folder is None else folder
    settings = read(flags=flags, environ=environ, files=settings_files(environ, folder))
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,40}", settings.site.name):
        raise SettingsError(
            f"{settings.site.name!r} cannot name a site",
            hint="Use small letters, digits, - and _, at most 41 of them.",
        )
    return settings


def settings_files(environ: Mapping[str, str], folder: Path) -> tuple[SettingsFile, ...]:
    """Return the settings files that exist: the nearest ``ragctl.toml`` upwards, the user's."""
    nearest = next(
        (place / SETTINGS_NAME for place in (folder, *folder.parents) if _is_file(place)), None
    )
    own = user_settings_path(environ)
    paths = [path for path in (nearest, own) if path is not None and path.is_file()]
    return tuple(SettingsFile(path=path, text=_text_of(path)) for path in paths)


def user_settings_path(environ: Mapping[str, str]) -> Path | None:
    """Return where the user's own settings lie, whether or not they exist."""
    config_home = environ.get("XDG_CONFIG_HOME") or _home(environ, ".config")
    return Path(config_home) / "ragctl" / "config.toml" if config_home else None


def _is_file(place: Path) -> bool:
    try:
        return (place / SETTINGS_NAME).is_file()
    except OSError:
        return False


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} cannot be read: {error}", hint="Mend the file or its rights."
        ) from error


def _home(environ: Mapping[str, str], below: str) -> str:
    home = environ.get("HOME")
    return str(Path(home) / below) if home else ""


def data_directory(settings: Settings, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the embedded server and of downloaded models."""
    environ = os.environ if environ is None else environ
    if settings.database.data_dir:
        return Path(settings.database.data_dir).absolute()
    data_home = environ.get("XDG_DATA_HOME") or _home(environ, ".local/share")
    if not data_home:
        raise SettingsError(
            "there is no HOME to keep the database in",
            hint="Set RAGCTL_DATA_DIR to a folder of yours.",
        )
    return Path(data_home) / "ragctl"


# Database ------------------------------------------------------------------------------------


def embedded_server(settings: Settings) -> EmbeddedServer:
    """Return the embedded server of the data directory, started or not."""
    return EmbeddedServer(data_directory(settings))


def database_url(settings: Settings) -> str:
    """Return the address of the site's database, whether or not it can be reached."""
    if settings.database.url:
        return settings.database.url
    return embedded_server(settings).url(database_name(settings.site.name))


def raw_connection(settings: Settings, *, creates: bool = False) -> Connection:
    """Connect to the site's database as it is, starting the embedded server where needed.

    Only with ``creates`` is that server made where there is none.
    """
    if settings.database.url:
        return connect(settings.database.url)
    name = database_name(settings.site.name)
    return connect_embedded(embedded_server(settings), name, creates=creates)


def open_database(settings: Settings) -> Database:
    """Open the site's database for reading; creates, starts for the first time, migrates nothing.

    Raises :class:`~ragctl.errors.ContentError` where nothing was ever ingested.
    """
    nothing = ContentError(
        f"site {settings.site.name!r} holds nothing yet",
        hint="Run `ragctl ingest PATH/TO/CONTENT` first, or `ragctl demo` to look around.",
    )
    try:
        connection = raw_connection(settings)
    except DatabaseMissing:
        if settings.database.url:
            raise
        raise nothing from None
    return _database_over(connection, settings)


def open_database_for_ingest(settings: Settings, *, replaces: bool = False) -> Database:
    """Open the site's database, creating and migrating it where needed.

    With ``replaces``, a table ``chunks`` that is not ragctl's is moved out of the way.
    """
    migrate_database(settings, replaces=replaces)
    return _database_over(raw_connection(settings), settings)


def migrate_database(settings: Settings, *, replaces: bool = False) -> tuple[Migration, ...]:
    """Bring the site's database to this version's schema, creating an embedded one first."""
    with _connection_made(settings) as connection:
        if replaces:
            set_foreign_table_aside(connection, database_url(settings))
        return migrate(connection, database_url(settings))


def _connection_made(settings: Settings) -> Connection:
    try:
        return raw_connection(settings, creates=True)
    except DatabaseMissing:
        if settings.database.url:
            raise
        create_database(embedded_server(settings), database_name(settings.site.name))
        return raw_connection(settings)


def _database_over(connection: Connection, settings: Settings) -> Database:
    try:
        return Database.over(connection, database_url(settings))
    except BaseException:
        connection.close()
        raise


def list_sites(settings: Settings) -> list[SiteSummary]:
    """Return the sites on the embedded server; none where it was never started."""
    server = embedded_server(settings)
    return embedded.list_sites(server) if server.status().initialised else []


def remove_site(settings: Settings) -> None:
    """Remove the embedded database of the site."""
    embedded.drop_database(embedded_server(settings), database_name(settings.site.name))


def dump_site(settings: Settings, file: Path) -> int:
    """Write the site's database to a file and return its size in bytes."""
    with open_database(settings):
        pass  # says clearly where there is nothing to dump
    return backup.dump(embedded_server(settings), database_url(settings), file)


def restore_site(settings: Settings, file: Path, *, replace: bool) -> None:
    """Fill the site's database from a dump, creating an embedded one first."""
    backup.require_dump(file)
    server = embedded_server(settings)
    with _connection_made(settings) as connection:
        backup.restore(server, connection, database_url(settings), file, replace=replace)


# Stages --------------------------------------------------------------------------------------


def make_parser(settings: Settings) -> Parser:
    """Return the parser of the settings.

    Raises :class:`~ragctl.errors.SettingsError` for anchors by unknown rules.
    """
    slugs = settings.site.slugs
    slugger = SLUGGERS.get(slugs)
    if slugger is None and ":" not in slugs:
        raise SettingsError(
            f"unknown rule of anchors {slugs!r} ({settings.origin('site.slugs')})",
            hint=f"site.slugs: {', '.join(SLUGGERS)}, or package.module:Class.",
        )
    if slugger is None:
        slugger = _own_class(settings, "site.slugs", slugs)
        _require_slugger(slugger, slugs)
    return MarkdownParser(slugs=slugs, slugger=slugger)


def _require_slugger(slugger: Callable[[], object], name: str) -> None:
    try:
        made = slugger()
    except Exception as error:
        raise SettingsError(
            f"{name} cannot be made: {type(error).__name__}: {error}",
            hint="site.slugs: the class is called without arguments, once a page.",
        ) from error
    if not all(callable(getattr(made, verb, None)) for verb in ("slug", "take")):
        raise SettingsError(
            f"{name} is no slugger", hint="It needs the methods of ragctl.protocols.Slugger."
        )


def _own_class(settings: Settings, key: str, name: str) -> Callable[[], Any]:
    """Return a class named as ``package.module:Class``.

    Naming one runs its module, so it is refused from a ``ragctl.toml``: that file may have come
    with a checkout of somebody else's site.
    """
    origin = settings.origin(key)
    if Path(origin).name == SETTINGS_NAME:
        raise SettingsError(
            f"{key} names a class, {name!r}, in {origin}: code is not taken from there",
            hint=f"Set it in your own config.toml, or as RAGCTL_{key.upper().replace('.', '__')}.",
        )
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise SettingsError(
            f"{key}: {name!r} cannot be imported: {type(error).__name__}: {error}",
            hint="It must be importable where ragctl is installed, as package.module:Class.",
        ) from error
    if not callable(found):
        raise SettingsError(f"{key}: {name!r} is no class", hint="Name it package.module:Class.")
    return cast("Callable[[], Any]", found)


def link_style(settings: Settings) -> LinkStyle:
    """Return where links of the site point, and in which form."""
    url_style = cast("UrlStyle", settings.site.url_style)
    return LinkStyle(base_url=settings.site.base_url, url_style=url_style)


def make_chunker(settings: Settings) -> Chunker:
    """Return the chunker of the settings; a size that was not set is the chunker's own.

    Raises :class:`~ragctl.errors.SettingsError` naming size and overlap where they cannot work.
    """
    chunking = settings.chunking
    given = {
        name: value
        for name, value in (("size", chunking.size), ("overlap", chunking.overlap))
        if settings.origin(f"chunking.{name}") != "default"
    }
    if chunking.chunker == "fixed":
        return FixedChunker(**given)
    if chunking.chunker == "window":
        return WindowChunker(**given)
    if chunking.size < 1 or not 0 <= chunking.overlap < chunking.size:
        raise SettingsError(
            f"passages of size {chunking.size} with overlap {chunking.overlap} cannot be cut",
            hint="chunking.size must be at least 1, chunking.overlap at least 0 and smaller.",
        )
    return StructuredChunker(size=chunking.size)


def make_embedder(
    settings: Settings, *, recorded: IndexIdentity | None, rebuilds: bool = False
) -> Chosen[Embedder]:
    """Return the embedder for an index.

    An index that exists decides (settings that say otherwise raise
    :class:`~ragctl.errors.IndexMismatch`); else the settings; ``auto`` takes Ollama if it answers
    and has the model, else the embedded model, and raises :class:`~ragctl.errors.ModelMissing`
    with all reasons where there is none.
    """
    provider, model = settings.embedding.provider, settings.embedding.model
    if recorded is not None and not rebuilds:
        _require_same_name(settings, recorded)
        pinned = recorded.embedding
        return Chosen(part=_embedder(settings, pinned.provider, pinned.model))
    if provider == "auto" and not model:
        return _embedder_of_this_machine(settings)
    if provider == "auto":
        provider = "ollama"  # a name without a provider is one of Ollama's
    embedder = _embedder(settings, provider, model)
    return Chosen(
        part=embedder, remark=f"Embedding with {provider}/{model or DEFAULT_OLLAMA_MODEL}."
    )


def _require_same_name(settings: Settings, recorded: IndexIdentity) -> None:
    pinned = recorded.embedding
    provider, model = settings.embedding.provider, settings.embedding.model
    wanted = (pinned.provider if provider == "auto" else provider, model.removesuffix(":latest"))
    if wanted[0] != pinned.provider or (model and wanted[1] != pinned.model):
        asked = "/".join(part for part in (provider if provider != "auto" else "", model) if part)
        raise IndexMismatch(
            f"the index was made with {pinned.label}, the settings ask for {asked}",
            hint="Embed everything anew with `ragctl ingest --rebuild`, or set embedding.provider "
            "and embedding.model back.",
        )


def _embedder(settings: Settings, provider: str, model: str) -> Embedder:
    if provider == "ollama":
        from ragctl.models.ollama import OllamaEmbedder

        return OllamaEmbedder(
            make_ollama(settings),
            model=model or DEFAULT_OLLAMA_MODEL,
            timeout_seconds=settings.embedding.timeout_seconds,
        )
    return _local_embedder(settings, model)


def _local_embedder(settings: Settings, model: str) -> Embedder:
    from ragctl.models.local import (
        NOMIC_MODEL,
        OFFLINE_MODEL,
        LocalEmbedder,
        NomicEmbedder,
        fastembed_available,
        local_available,
    )

    offline, extra = local_available(), fastembed_available()
    classes: dict[str, type[LocalEmbedder]] = {
        OFFLINE_MODEL: LocalEmbedder,
        NOMIC_MODEL: NomicEmbedder,
    }
    model = model or (OFFLINE_MODEL if offline.usable else NOMIC_MODEL)
    if model not in classes:
        raise ModelMissing(
            f"there is no embedded model {model!r}", hint=f"Known: {', '.join(classes)}."
        )
    missing = offline if model == OFFLINE_MODEL else extra
    if not missing.usable:
        raise ModelMissing(f"no embedded model: {offline.reason}", hint=offline.hint)
    folder = data_directory(settings) / "models"
    return classes[model](folder, threads=settings.embedding.threads or None)


def make_ollama(settings: Settings) -> OllamaClient:
    """Return the client of the Ollama server in the settings."""
    from ragctl.models.ollama import OllamaClient

    return OllamaClient(settings.ollama.url, connect_seconds=settings.ollama.connect_seconds)


def _embedder_of_this_machine(settings: Settings) -> Chosen[Embedder]:
    try:
        has_model = DEFAULT_OLLAMA_MODEL in make_ollama(settings).models()
        why_not = f"Ollama has no {DEFAULT_OLLAMA_MODEL} (ollama pull {DEFAULT_OLLAMA_MODEL})"
    except ModelError as error:
        has_model, why_not = False, error.message
    if has_model:
        return Chosen(
            part=_embedder(settings, "ollama", DEFAULT_OLLAMA_MODEL),
            remark=f"Embedding with ollama/{DEFAULT_OLLAMA_MODEL}.",
        )
    try:
        embedder = _embedder(settings, "local", "")
    except ModelError as error:
        raise ModelMissing(
            f"there is no embedding model: {why_not}; and {error.message}",
            hint=f"Start Ollama and run `ollama pull {DEFAULT_OLLAMA_MODEL}`, or install the "
            f"embedded model. {error.hint}",
        ) from error
    return Chosen(
        part=embedder, remark=f"Embedding with {embedder.identity.label}, because {why_not}."
    )


def ollama_address(settings: Settings) -> str:
    """Return the address of the Ollama server, normalised and without a password."""
    return make_ollama(settings).server.shown_url


def offline_model_state(settings: Settings) -> tuple[bool, str, str]:
    """Return whether the embedded model can be used, what is so, and what would mend it.

    Files that were unpacked before are checked by their hashes.
    """
    from ragctl.models.local import OFFLINE_MODEL, local_available, verify_offline_model

    available = local_available()
    if not available.usable:
        return False, available.reason, available.hint
    try:
        verify_offline_model()
    except ModelMissing as error:
        return False, error.message, error.hint
    return True, f"{OFFLINE_MODEL} is installed, its hashes are right", ""


def require_embedding_model(
    recorded: IndexIdentity, ollama_models: Mapping[str, str] | None
) -> None:
    """Raise :class:`~ragctl.errors.ModelMissing` where Ollama lacks the model of the index."""
    pinned = recorded.embedding
    if pinned.provider == "ollama" and pinned.model not in (ollama_models or {}):
        raise ModelMissing(
            f"the index needs {pinned.label}, which Ollama does not have",
            hint=f"ollama pull {pinned.model}",
        )


def make_generator(settings: Settings) -> Chosen[Generator]:
    """Return who writes the answer.

    ``auto`` takes Ollama if it answers and has the model, else sentences of the passages. Asked
    for by name, Ollama must have the model: :class:`~ragctl.errors.ModelMissing`.
    """
    provider, model = settings.generation.provider, settings.generation.model
    if provider == "extractive":
        return Chosen(
            part=ExtractiveGenerator(),
            remark="No model wrote this answer: it quotes the passages.",
            reason="the setting generation.provider says so",
        )
    try:
        client = make_ollama(settings)
        has_model = model.removesuffix(":latest") in client.models()
        missing: ModelError = ModelMissing(
            f"Ollama at {settings.ollama.url} does not have the model {model}",
            hint=f"ollama pull {model}",
        )
    except ModelError as error:
        has_model, missing = False, error
    if has_model:
        return Chosen(part=_ollama_generator(client, settings))
    if provider == "ollama":
        raise missing
    return Chosen(
        part=ExtractiveGenerator(),
        remark=f"No model wrote this answer, it quotes the passages: {missing.message} "
        f"({missing.hint}).",
        reason=missing.message,
    )


def _ollama_generator(client: OllamaClient, settings: Settings) -> Generator:
    from ragctl.models.ollama import OllamaGenerator

    generation = settings.generation
    return OllamaGenerator(
        client,
        guard=RepetitionGuard,
        model=generation.model,
        num_ctx=generation.num_ctx,
        num_predict=generation.num_predict,
        first_token_seconds=generation.first_token_seconds,
        stall_seconds=generation.stall_seconds,
        total_seconds=generation.total_seconds,
    )
