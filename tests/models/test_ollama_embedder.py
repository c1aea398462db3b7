from __future__ import annotations

import math
from typing import Any

import pytest

from ragctl.errors import (
    EmbeddingRefused,
    ModelError,
    ModelMissing,
    ModelReplyError,
    ModelUnreachable,
)
from ragctl.models.ollama import OllamaClient, OllamaEmbedder, model_name
from ragctl.models.retrying import Retrying
from tests.ollama_server import OllamaServer, Reply, Request, embeddings, unit_vector


class Pauses:
    """Stands for sleep: notes how long it was asked to wait."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def embedder(server: OllamaServer, **options: Any) -> OllamaEmbedder:
    sleep = options.pop("sleep", Pauses())
    retrying = Retrying(sleep=sleep, chance=lambda: 0.5)
    return OllamaEmbedder(OllamaClient(server.url), retrying=retrying, **options)


def rows(*vectors: object) -> Reply:
    return Reply(document={"embeddings": list(vectors)})


def damaged(index: int, value: object) -> list[object]:
    vector: list[object] = list(unit_vector("x"))
    vector[index] = value
    return vector


def test_texts_are_sent_with_the_prefix_of_their_purpose_and_never_truncated() -> None:
    with OllamaServer() as server:
        vectors = embedder(server).embed(["one", "two"], purpose="document")
        embedder(server).embed(["one"], purpose="query")
    assert [request.inputs for request in server.requests] == [
        ["search_document: one", "search_document: two"],
        ["search_query: one"],
    ]
    assert all(request.body["truncate"] is False for request in server.requests)
    assert [len(vector) for vector in vectors] == [768, 768]
    assert vectors[1][5] == pytest.approx(unit_vector("search_document: two")[5])


def test_no_texts_need_no_server() -> None:
    client = OllamaClient("http://127.0.0.1:9")
    assert OllamaEmbedder(client).embed([], purpose="document") == []


def test_a_blank_text_is_refused_before_it_is_sent() -> None:
    with OllamaServer() as server, pytest.raises(EmbeddingRefused) as caught:
        embedder(server).embed(["one", " \n"], purpose="document")
    assert caught.value.reason == "empty"
    assert not server.requests


def test_the_identity_holds_the_digest_the_server_tells_and_asks_once() -> None:
    with OllamaServer() as server:
        made = embedder(server, model="nomic-embed-text:latest")
        assert made.identity == made.identity
    assert made.identity.digest == "digest-of-nomic-embed-text"
    assert made.identity.label == "ollama/nomic-embed-text"
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "tags", [Reply(status=404, raw=b"no"), Reply(document={"models": None}), Reply(raw=b"<html>")]
)
def test_a_digest_that_is_not_told_is_empty(tags: Reply) -> None:
    with OllamaServer() as server:
        server.on("/api/tags", tags)
        assert embedder(server).identity.digest == ""


def test_models_are_listed_without_latest() -> None:
    with OllamaServer() as server:
        entries = [{"name": "a:latest", "digest": "1"}, {"model": "b:7b"}, {"name": 3}, "odd"]
        server.on("/api/tags", Reply(document={"models": entries}))
        assert OllamaClient(server.url).models() == {"a": "1", "b:7b": ""}
        assert OllamaClient(server.url).version() == "0.13.5"
    assert model_name("llama3:latest") == "llama3"


@pytest.mark.parametrize(
    ("reply", "part"),
    [
        (rows(unit_vector("a")), "1 vectors for 2 texts"),
        (rows(), "0 vectors for 2 texts"),
        (rows([], unit_vector("b")), "0 numbers"),
        (rows([0.5] * 384, [0.5] * 384), "384 numbers"),
        (rows(damaged(3, "0.5"), unit_vector("b")), "not only numbers"),
        (rows(damaged(3, True), unit_vector("b")), "not only numbers"),
        (rows(damaged(3, None), unit_vector("b")), "not only numbers"),
        (rows("vector", "vector"), "str"),
        (Reply(document={"embedding": unit_vector("a")}), "embedding"),
        (Reply(document=[]), "no object"),
        (Reply(raw=b"<html>busy</html>"), "not JSON"),
    ],
)
def test_a_reply_that_breaks_the_protocol_is_refused_by_what_came(reply: Reply, part: str) -> None:
    with OllamaServer() as server:
        server.on("/api/embed", reply)
        with pytest.raises(ModelReplyError) as caught:
            embedder(server).embed(["one", "two"], purpose="document")
    assert part in caught.value.message
    assert len(server.requests) == 1


def test_a_vector_of_another_size_names_both_sizes() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", rows([0.5] * 1024))
        with pytest.raises(ModelReplyError, match=r"1024.*768"):
            embedder(server).embed(["one"], purpose="query")


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, 10**400])
def test_a_vector_that_is_not_finite_is_refused_after_the_retries(value: float) -> None:
    with OllamaServer() as server:
        server.on("/api/embed", rows(damaged(0, value)))
        with pytest.raises(EmbeddingRefused) as caught:
            embedder(server).embed(["one"], purpose="document")
    assert caught.value.reason == "not_finite"
    assert len(server.requests) == 3


def test_a_vector_of_zeros_is_refused_as_not_finite() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", rows([0.0] * 768))
        with pytest.raises(EmbeddingRefused, match="zeros") as caught:
            embedder(server).embed(["one"], purpose="document")
    assert caught.value.reason == "not_finite"


def test_nan_in_the_servers_own_encoder_is_refused_after_the_retries() -> None:
    with OllamaServer() as server:
        said = {"error": "failed to encode response: json: unsupported value: NaN"}
        server.on("/api/embed", Reply(status=500, document=said))
        with pytest.raises(EmbeddingRefused, match="NaN") as caught:
            embedder(server).embed(["one"], purpose="document")
    assert caught.value.reason == "not_finite"
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize(
    "said",
    [
        "the input length exceeds the context length",
        "input length exceeds maximum context length",
        "input is too large to process. increase the physical batch size",
    ],
)
def test_a_text_that_is_too_long_is_refused_and_not_sent_again(status: int, said: str) -> None:
    with OllamaServer() as server:
        server.on("/api/embed", Reply(status=status, document={"error": said}))
        with pytest.raises(EmbeddingRefused, match=said[:20]) as caught:
            embedder(server).embed(["one"], purpose="document")
    assert caught.value.reason == "too_long"
    assert len(server.requests) == 1


def test_a_missing_model_says_how_to_get_it() -> None:
    with OllamaServer() as server:
        said = {"error": 'model "nomic-embed-text" not found, try pulling it first'}
        server.on("/api/embed", Reply(status=404, document=said))
        with pytest.raises(ModelMissing) as caught:
            embedder(server).embed(["one"], purpose="query")
    assert caught.value.hint == "ollama pull nomic-embed-text"
    assert len(server.requests) == 1


def test_a_server_that_is_not_ollama_is_no_missing_model() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", Reply(status=404, raw=b"404 page not found"))
        with pytest.raises(ModelReplyError, match="404"):
            embedder(server).embed(["one"], purpose="query")


def test_no_server_says_how_to_start_it() -> None:
    with OllamaServer() as server:
        made = embedder(server)
    with pytest.raises(ModelUnreachable) as caught:
        made.embed(["one"], purpose="query")
    assert "ollama serve" in caught.value.hint
    with pytest.raises(ModelUnreachable):
        _ = made.identity


@pytest.mark.parametrize(
    "first",
    [Reply(status=status, document={"error": "busy"}) for status in (429, 500, 502, 503, 504)]
    + [Reply(end="reset"), Reply(packets=[b'{"embed'], end="reset")],
)
def test_what_may_clear_is_tried_again_after_a_growing_pause(first: Reply) -> None:
    pauses = Pauses()
    with OllamaServer() as server:
        server.on("/api/embed", first, first, embeddings)
        assert len(embedder(server, sleep=pauses).embed(["one"], purpose="query")) == 1
    assert pauses.seconds == [pytest.approx(0.2), pytest.approx(0.4)]


def test_retries_end() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", Reply(status=503, document={"error": "server busy"}))
        with pytest.raises(ModelUnreachable, match="server busy"):
            embedder(server).embed(["one"], purpose="query")
    assert len(server.requests) == 3


def test_a_400_is_never_sent_again() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", Reply(status=400, document={"error": "invalid input"}))
        with pytest.raises(ModelReplyError, match="invalid input"):
            embedder(server).embed(["one"], purpose="query")
    assert len(server.requests) == 1


def test_a_hanging_server_is_left_in_time_and_not_asked_again() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", Reply(end="hang"))
        with pytest.raises(ModelUnreachable):
            embedder(server, timeout_seconds=0.1).embed(["one"], purpose="query")
    assert len(server.requests) == 1


def test_text_that_utf8_cannot_hold_does_not_break_the_request() -> None:
    with OllamaServer() as server:
        embedder(server).embed(["a\ud800b\x00c"], purpose="query")
    assert len(server.requests) == 1


def test_an_error_names_neither_user_nor_password() -> None:
    def refuse(request: Request) -> Reply:
        return Reply(status=401, document={"error": "who are you"})

    with OllamaServer() as server:
        server.on("/api/embed", refuse)
        url = server.url.replace("http://", "http://me:secret@")
        with pytest.raises(ModelError) as caught:
            OllamaEmbedder(OllamaClient(url)).embed(["one"], purpose="query")
    assert "401" in caught.value.message
    assert "secret" not in caught.value.message + caught.value.hint


def test_an_error_in_a_reply_of_200_is_told_in_its_words() -> None:
    with OllamaServer() as server:
        server.on("/api/embed", Reply(document={"error": "more memory is needed"}))
        with pytest.raises(ModelReplyError, match="reports: more memory is needed"):
            embedder(server).embed(["x"], purpose="document")
