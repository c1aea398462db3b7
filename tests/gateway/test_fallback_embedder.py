"""Several addresses of one embedding model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragctl.errors import EmbeddingRefused, ModelMissing, ModelUnreachable
from ragctl.gateway.embedder import FallbackEmbedder
from ragctl.models.ollama import OllamaClient, OllamaEmbedder
from ragctl.models.retrying import Retrying
from tests.ollama_server import OllamaServer, Reply

BUSY = Reply(status=503, raw=b"")


@pytest.fixture
def servers() -> Iterator[tuple[OllamaServer, OllamaServer]]:
    with OllamaServer() as first, OllamaServer() as second:
        yield first, second


def over(*urls: str, **options: Any) -> FallbackEmbedder:
    return FallbackEmbedder(
        [OllamaEmbedder(OllamaClient(url), retrying=Retrying(retries=0), **options) for url in urls]
    )


def digest(server: OllamaServer, told: str) -> None:
    models = [{"name": "nomic-embed-text:latest", "digest": told}]
    server.on("/api/tags", Reply(document={"models": models}))


def test_a_failing_address_is_followed_by_the_next_which_is_asked_first_from_then_on(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    first, second = servers
    embedder = over(first.url, second.url)
    embedder.embed(["one"], purpose="document")
    first.on("/api/embed", BUSY)
    for _ in range(3):
        assert len(embedder.embed(["one"], purpose="document")) == 1
    assert len(first.requests_to("/api/embed")) == 2
    assert len(second.requests_to("/api/embed")) == 3


def test_an_address_that_is_down_from_the_beginning_does_not_matter(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    embedder = over("http://127.0.0.1:9", servers[1].url)
    assert embedder.identity.label == "ollama/nomic-embed-text"
    assert len(embedder.embed(["one"], purpose="query")) == 1


def test_another_model_of_the_same_name_is_never_taken(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    first, second = servers
    digest(first, "aaa")
    digest(second, "bbb")
    embedder = over(first.url, second.url)
    assert embedder.identity.digest == "aaa"
    first.on("/api/embed", BUSY)
    with pytest.raises(ModelUnreachable, match="503"):
        embedder.embed(["one"], purpose="document")
    assert second.requests_to("/api/embed") == []


def test_a_refused_text_is_refused_at_once(servers: tuple[OllamaServer, OllamaServer]) -> None:
    embedder = over(servers[0].url, servers[1].url)
    with pytest.raises(EmbeddingRefused):
        embedder.embed([" "], purpose="document")
    assert servers[1].requests == []


def test_where_all_fail_the_first_error_is_told() -> None:
    with pytest.raises(ModelUnreachable, match=r"127\.0\.0\.1:9"):
        over("http://127.0.0.1:9", "http://127.0.0.1:10").embed(["one"], purpose="query")


def test_an_embedder_that_serves_no_model_says_so(
    servers: tuple[OllamaServer, OllamaServer],
) -> None:
    missing = Reply(status=404, document={"error": "model not found"})
    for server in servers:
        server.on("/api/embed", missing)
    with pytest.raises(ModelMissing):
        over(servers[0].url, servers[1].url).embed(["one"], purpose="query")
