"""Servers with OpenAI's interface, as the settings name them: models that write, and embedders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ragctl.errors import SettingsError
from ragctl.models.openai import OpenAiClient, OpenAiEmbedder, OpenAiGenerator
from ragctl.stages.repetition import RepetitionGuard
from ragctl.wiring.keys import key_in

if TYPE_CHECKING:
    from ragctl.gateway.deadline import Deadlines
    from ragctl.protocols import Embedder, Generator
    from ragctl.route_settings import RouteSettings
    from ragctl.settings import Settings

NOMIC_PREFIXES = ("search_document: ", "search_query: ")


def openai_generator(
    route: RouteSettings, settings: Settings, deadlines: Deadlines, key: str
) -> Generator:
    """Return what writes through a route of the provider ``openai``."""
    client = OpenAiClient(
        route.url,
        connect_seconds=deadlines.connect_seconds,
        key=key,
        key_name=route.api_key_env,
    )
    return OpenAiGenerator(
        client,
        guard=RepetitionGuard,
        model=route.model,
        name=route.name,
        max_tokens=settings.generation.num_predict,
        first_token_seconds=deadlines.first_token_seconds,
        stall_seconds=settings.generation.stall_seconds,
        total_seconds=deadlines.total_seconds,
    )


def openai_embedders(settings: Settings, model: str) -> list[Embedder]:
    """Return an embedder for each address of the embedding model, the first one first.

    Models of the nomic family get their prefixes, as they do from Ollama; others get none.
    """
    embedding = settings.embedding
    if not model or not embedding.url:
        lacking = "embedding.url" if model else "embedding.model"
        raise SettingsError(
            f"{lacking} must be given where embedding.provider is openai",
            hint=f"ragctl config set {lacking} VALUE",
        )
    key = key_in(embedding.api_key_env, os.environ, what="the embedding model")
    prefixes = NOMIC_PREFIXES if "nomic" in model.lower() else ("", "")
    embedders: list[Embedder] = []
    for url in (embedding.url, *embedding.fallback_urls):
        client = OpenAiClient(
            url,
            connect_seconds=settings.ollama.connect_seconds,
            key=key,
            key_name=embedding.api_key_env,
        )
        embedders.append(
            OpenAiEmbedder(
                client,
                model=model,
                document_prefix=prefixes[0],
                query_prefix=prefixes[1],
                timeout_seconds=embedding.timeout_seconds,
            )
        )
    return embedders
