"""Embeddings of a server with OpenAI's interface, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from ragctl.errors import EmbeddingRefused, ModelError, ModelReplyError
from ragctl.models.openai import OpenAiClient, OpenAiEmbedder
from ragctl.models.retrying import Retrying
from tests.ollama_server import OllamaServer, Reply, unit_vector
from tests.openai_replies import EMBEDDINGS, openai_embeddings


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with OllamaServer() as running:
        running.on(EMBEDDINGS, openai_embeddings)
        yield running


def embedder(server: OllamaServer, **options: Any) -> OpenAiEmbedder:
    return OpenAiEmbedder(
        OpenAiClient(server.url),
        model="nomic",
        retrying=Retrying(sleep=lambda _seconds: None),
        **options,
    )


def test_vectors_are_in_the_order_of_the_texts_whatever_the_order_of_the_reply(
    server: OllamaServer,
) -> None:
    made = embedder(server, query_prefix="q: ").embed(["one", "two"], purpose="query")
    expected = [unit_vector("q: one"), unit_vector("q: two")]
    assert [list(vector) for vector in made] == [
        pytest.approx(vector, abs=1e-6) for vector in expected
    ]
    assert len(server.requests) == 1


def test_short_vectors_are_padded_and_long_ones_refused(server: OllamaServer) -> None:
    server.on(EMBEDDINGS, partial(openai_embeddings, dimensions=384))
    (vector,) = embedder(server).embed(["one"], purpose="document")
    assert len(vector) == 768
    assert not any(vector[384:])
    server.on(EMBEDDINGS, partial(openai_embeddings, dimensions=1536))
    with pytest.raises(ModelReplyError, match="1536"):
        embedder(server).embed(["one"], purpose="document")


def test_a_model_that_can_shorten_its_vectors_is_asked_to(server: OllamaServer) -> None:
    client = OpenAiClient(server.url)
    OpenAiEmbedder(client, model="text-embedding-3-small").embed(["one"], purpose="document")
    assert server.requests[0].body["dimensions"] == 768


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([], ModelReplyError),
        ([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}], ModelReplyError),
        ([{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": [1.0]}], ModelReplyError),
        ([{"index": 0, "embedding": [0.0]}, {"index": 1, "embedding": [1.0]}], EmbeddingRefused),
        ([{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1.0]}], EmbeddingRefused),
    ],
    ids=["none", "twice the same", "base64", "zeros", "infinite"],
)
def test_vectors_that_cannot_be_used_are_refused(
    data: list[object], kind: type[ModelError], server: OllamaServer
) -> None:
    server.on(EMBEDDINGS, Reply(document={"data": data}))
    with pytest.raises(kind):
        embedder(server).embed(["one", "two"], purpose="document")


def test_what_may_clear_is_tried_again_and_a_text_that_is_too_long_is_not(
    server: OllamaServer,
) -> None:
    server.on(EMBEDDINGS, Reply(status=503, raw=b""), openai_embeddings)
    assert len(embedder(server).embed(["one"], purpose="document")) == 1
    too_long = {"error": {"message": "maximum context length is 8192 tokens"}}
    server.on(EMBEDDINGS, Reply(status=400, document=too_long))
    server.requests.clear()
    with pytest.raises(EmbeddingRefused) as refused:
        embedder(server).embed(["one"], purpose="document")
    assert refused.value.reason == "too_long"
    assert len(server.requests) == 1
    with pytest.raises(EmbeddingRefused):
        embedder(server).embed([" "], purpose="document")
