"""Ingesting and asking with an embedding model at other addresses than one Ollama's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ollama_server import OllamaServer, Reply, embeddings
from tests.openai_replies import EMBEDDINGS, openai_embeddings
from tests.program import Program

BUSY = Reply(status=503, raw=b"")


@pytest.fixture
def other() -> Iterator[OllamaServer]:
    """A second model server."""
    with OllamaServer() as server:
        yield server


def test_an_ingest_goes_on_at_a_second_address(
    ragctl: Program, site: Path, ollama: OllamaServer, other: OllamaServer
) -> None:
    ollama.on("/api/embed", embeddings, BUSY)
    ragctl.set(RAGCTL_EMBEDDING__FALLBACK_URLS=other.url)
    assert ragctl("ingest", str(site)).code == 0
    assert ragctl("ask", "How?", "--mode", "vector", "--json").document["route"] == "ollama/llama3"
    assert other.requests_to("/api/embed")


def test_a_site_is_embedded_by_a_server_of_openais_kind(
    ragctl: Program, site: Path, other: OllamaServer
) -> None:
    other.on(EMBEDDINGS, openai_embeddings)
    ragctl.set(RAGCTL_EMBEDDING__PROVIDER="openai", RAGCTL_EMBEDDING__URL=other.url)
    refused = ragctl("ingest", str(site))
    assert refused.code == 2
    assert "embedding.model" in refused.err
    ragctl.set(RAGCTL_EMBEDDING__MODEL="nomic-embed-text-v1.5", RAGCTL_EMBEDDING__API_KEY_ENV="K")
    assert ragctl("ingest", str(site)).code == 5
    ragctl.set(K="sk-1")
    assert ragctl("ingest", str(site)).code == 0
    request = other.requests_to(EMBEDDINGS)[0]
    assert request.headers["Authorization"] == "Bearer sk-1"
    assert request.inputs[0].startswith("search_document: ")
    document = ragctl("ask", "How does a queue work?", "--mode", "vector", "--json").document
    assert document["passages"]
