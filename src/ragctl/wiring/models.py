"""Which models embed and write, and what ``auto`` stands for on this machine.

Model clients are imported where they are chosen: a command that needs no model must not pay for
loading one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from ragctl.errors import DatabaseError, IndexMismatch, ModelError, ModelMissing
from ragctl.wiring.places import data_directory

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.models.ollama import OllamaClient
    from ragctl.protocols import Embedder, Generator
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

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
        require_same_name(settings, recorded)
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


def require_same_name(settings: Settings, recorded: IndexIdentity) -> None:
    """Raise :class:`~ragctl.errors.IndexMismatch` where the settings name another model."""
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
    if provider == "local":
        return _local_embedder(settings, model)
    if provider == "openai":
        from ragctl.wiring.openai import openai_embedders

        return _with_fallbacks(openai_embedders(settings, model))
    return _with_fallbacks(_ollama_embedders(settings, model or DEFAULT_OLLAMA_MODEL))


def _with_fallbacks(embedders: Sequence[Embedder]) -> Embedder:
    from ragctl.gateway.embedder import FallbackEmbedder

    return embedders[0] if len(embedders) == 1 else FallbackEmbedder(embedders)


def _ollama_embedders(settings: Settings, model: str) -> list[Embedder]:
    from ragctl.models.ollama import OllamaClient, OllamaEmbedder

    connect_seconds = settings.ollama.connect_seconds
    others = [
        OllamaClient(url, connect_seconds=connect_seconds)
        for url in settings.embedding.fallback_urls
    ]
    timeout_seconds = settings.embedding.timeout_seconds
    return [
        OllamaEmbedder(client, model=model, timeout_seconds=timeout_seconds)
        for client in (make_ollama(settings), *others)
    ]


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


def make_generator(
    settings: Settings,
    *,
    database: Database | None = None,
    quotes_instead: bool = False,
    on_restart: Callable[[str], None] = lambda _reason: None,
    on_lost: Callable[[DatabaseError], None] = lambda _error: None,
) -> Chosen[Generator]:
    """Return who writes the answer.

    ``auto`` takes the routes of the settings, in order; without any, Ollama if it answers and has
    the model, else sentences of the passages. Asked for by name, Ollama must have the model:
    :class:`~ragctl.errors.ModelMissing`. With ``quotes_instead`` the passages are quoted where
    every route failed; without, that is an error. The breakers are those of ``database``, and
    ``on_lost`` is told once where they cannot be used; ``on_restart`` is that of
    :class:`~ragctl.gateway.generator.GatewayGenerator`.
    """
    from ragctl.stages.generate import ExtractiveGenerator
    from ragctl.wiring.gateway import implied_route, make_gateway, make_routes

    provider, model = settings.generation.provider, settings.generation.model
    if provider == "extractive":
        return Chosen(
            part=ExtractiveGenerator(),
            remark="No model wrote this answer: generation.provider is extractive.",
            reason="the setting generation.provider says so",
        )
    if not settings.routes or provider != "auto":
        missing = _missing_from_ollama(settings, model)
        if provider == "ollama":
            if missing is not None:
                raise missing
            (route,) = make_routes(replace(settings, routes=(implied_route(settings),)))
            return Chosen(part=route.make(route.deadlines), remark=_set_aside(settings))
        if missing is not None:
            return Chosen(
                part=ExtractiveGenerator(),
                remark=f"No model wrote this answer: {missing.message}. What helps: "
                f"{missing.hint.removesuffix('.')}.",
                reason=missing.message,
            )
    gateway = make_gateway(
        settings,
        database=database,
        last_resort=ExtractiveGenerator() if quotes_instead else None,
        on_restart=on_restart,
        on_lost=on_lost,
    )
    return Chosen(part=gateway)


def _missing_from_ollama(settings: Settings, model: str) -> ModelError | None:
    """Return why Ollama cannot write with a model, ``None`` where it can."""
    try:
        if model.removesuffix(":latest") in make_ollama(settings).models():
            return None
    except ModelError as error:
        return error
    return ModelMissing(
        f"Ollama at {ollama_address(settings)} does not have the model {model}",
        hint=f"ollama pull {model}",
    )


def _set_aside(settings: Settings) -> str:
    origin = settings.origin("generation.provider")
    if not settings.routes or origin == "flag":
        return ""
    return f"The routes are not used: generation.provider is ollama ({origin})."
