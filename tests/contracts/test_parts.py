"""What every part of a kind must do: add a new class to its seam's list and run these tests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragctl.db.database import Database
from ragctl.files import find, read
from ragctl.gateway.breaker import OwnBreakers
from ragctl.gateway.deadline import Deadlines
from ragctl.gateway.embedder import FallbackEmbedder
from ragctl.gateway.generator import GatewayGenerator, Policy
from ragctl.gateway.routes import Route
from ragctl.models.local import LocalEmbedder, local_available
from ragctl.models.ollama import OllamaClient, OllamaEmbedder, OllamaGenerator
from ragctl.models.openai import OpenAiClient, OpenAiEmbedder, OpenAiGenerator
from ragctl.models.retrying import Retrying
from ragctl.protocols import Chunker, Embedder, Generator
from ragctl.records.answers import Prompt
from ragctl.records.chunks import EmbeddedChunk
from ragctl.records.pages import Page
from ragctl.records.search import Hit, Query
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.chunk.window import WindowChunker
from ragctl.stages.generate import ExtractiveGenerator
from ragctl.stages.parse import parse
from ragctl.stages.repetition import RepetitionGuard
from tests.ollama_server import OllamaServer, chat
from tests.openai_replies import CHAT, EMBEDDINGS, completion, openai_embeddings

HANDBOOK = Path(__file__).resolve().parents[2] / "src" / "ragctl" / "handbook"
CHUNKERS: list[Chunker] = [
    FixedChunker(size=800, overlap=100),
    FixedChunker(size=200, overlap=20),
    StructuredChunker(),
    StructuredChunker(size=200, small=0),
    WindowChunker(),
    WindowChunker(size=50, overlap=10),
]


def _pages() -> list[Page]:
    return [parse(source, read(source)) for source in find(HANDBOOK).sources]


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda chunker: str(chunker.parameters))
def test_a_chunker_gives_the_same_passages_with_places_that_hold(chunker: Chunker) -> None:
    for page in _pages():
        passages = chunker.chunk(page)
        assert passages == chunker.chunk(page)
        assert [passage.position for passage in passages] == list(range(len(passages)))
        assert len({passage.ref for passage in passages}) == len(passages)
        labels = {heading.label: heading.anchor for heading in page.headings}
        for passage in passages:
            assert passage.ref == f"{page.url}#c{passage.start_char}"
            assert 0 <= passage.start_char < passage.end_char <= len(page.text)
            assert passage.body.strip()
            assert (passage.url, passage.track) == (page.url, page.track)
            if passage.section is not None:
                assert passage.section in labels
        covered = {
            place for passage in passages for place in range(passage.start_char, passage.end_char)
        }
        bare = [place for place, char in enumerate(page.text) if not char.isspace()]
        assert covered.issuperset(bare)


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    """A healthy model server."""
    with OllamaServer() as server:
        yield server


def _ollama_embedder(server: OllamaServer, _folder: Path) -> Embedder:
    return OllamaEmbedder(OllamaClient(server.url))


def _openai_embedder(server: OllamaServer, _folder: Path) -> Embedder:
    server.on(EMBEDDINGS, openai_embeddings)
    return OpenAiEmbedder(OpenAiClient(server.url), model="nomic-embed-text-v1.5")


def _fallback_embedder(server: OllamaServer, _folder: Path) -> Embedder:
    down = OllamaEmbedder(OllamaClient("http://127.0.0.1:9"), retrying=Retrying(retries=0))
    return FallbackEmbedder([down, OllamaEmbedder(OllamaClient(server.url))])


def _local_embedder(_server: OllamaServer, folder: Path) -> Embedder:
    if not local_available().usable:
        pytest.skip(local_available().reason)
    return LocalEmbedder(folder)


@pytest.mark.parametrize(
    "make",
    [
        _ollama_embedder,
        _openai_embedder,
        _fallback_embedder,
        pytest.param(_local_embedder, marks=pytest.mark.model),
    ],
)
def test_an_embedder_gives_one_usable_vector_a_text_in_order(
    make: Callable[[OllamaServer, Path], Embedder],
    ollama: OllamaServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    embedder = make(ollama, tmp_path_factory.mktemp("models"))
    texts = ["A lock has one holder.", "x", "Ein längerer Satz, mit Umlauten: Größe. " * 5]
    together = embedder.embed(texts, purpose="document")
    alone = [embedder.embed([text], purpose="document")[0] for text in texts]
    assert len(together) == len(texts)
    for vector, single in zip(together, alone, strict=True):
        assert len(vector) == embedder.identity.dimensions
        assert all(math.isfinite(number) for number in vector)
        assert math.fsum(a * b for a, b in zip(vector, single, strict=True)) == pytest.approx(
            1.0, abs=1e-3
        )
    assert embedder.embed([], purpose="document") == []
    assert embedder.identity == embedder.identity


def _hit(n: int) -> Hit:
    return Hit(
        n=n,
        chunk_id=n,
        ref="/a#c0",
        url="/a",
        title="A",
        track="a",
        section=None,
        anchor=None,
        body="The lock opens at six in the morning, every day of the week.",
        start_char=0,
        end_char=10,
        source_path="a.md",
        score=0.9,
        vector_score=0.9,
    )


def _ollama_generator(server: OllamaServer) -> Generator:
    server.on("/api/chat", chat("The lock opens ", "at six [1]."))
    return OllamaGenerator(OllamaClient(server.url), guard=RepetitionGuard)


def _openai_generator(server: OllamaServer) -> Generator:
    server.on(CHAT, completion("The lock opens ", "at six [1]."))
    return OpenAiGenerator(OpenAiClient(server.url), guard=RepetitionGuard, model="m")


def _gateway(server: OllamaServer) -> Generator:
    writes = _openai_generator(server)
    limits = Deadlines(connect_seconds=5, first_token_seconds=30, total_seconds=60)
    route = Route(name=writes.name, key="k", deadlines=limits, make=lambda _limits: writes)
    return GatewayGenerator(
        [route],
        policy=Policy(budget_seconds=60, retries=0),
        breakers=OwnBreakers(clock=time.monotonic),
        last_resort=None,
        on_restart=lambda _reason: None,
        clock=time.monotonic,
        sleep=time.sleep,
        chance=lambda: 0.0,
    )


def _extractive_generator(_server: OllamaServer) -> Generator:
    return ExtractiveGenerator()


@pytest.mark.parametrize(
    "make", [_ollama_generator, _openai_generator, _gateway, _extractive_generator]
)
def test_a_generator_hands_out_exactly_the_text_it_returns(
    make: Callable[[OllamaServer], Generator], ollama: OllamaServer
) -> None:
    generator = make(ollama)
    question = "When does the lock open?"
    prompt = Prompt(text="Passages ...", question=question, template="t", passages=(_hit(1),))
    pieces: list[str] = []
    draft = generator.generate(prompt, on_text=pieces.append)
    assert "".join(pieces) == draft.text
    assert "[1]" in draft.text
    assert draft.finish == "stop"
    assert draft.route == generator.name


def test_a_retriever_gives_at_most_k_of_the_tracks_asked_for_best_first(
    database: Database,
) -> None:
    from array import array

    def vector(*head: float) -> array[float]:
        return array("f", [*head, *([0.0] * (768 - len(head)))])

    chunker = FixedChunker(size=300, overlap=30)
    for number, page in enumerate(_pages()):
        passages = [
            EmbeddedChunk(chunk=chunk, vector=vector(1.0, 0.01 * number, 0.001 * chunk.position),
                          content_hash="")
            for chunk in chunker.chunk(page)
        ]  # fmt: skip
        database.chunks.replace(database.pages.store(page, parsed_with="1", refused=0), passages)
    for tracks in ((), ("start",), ("start", "operate"), ("nowhere",)):
        for k in (1, 5, 50):
            hits = database.chunks.retrieve(
                Query(text="", vector=vector(1.0, 0.2), tracks=tracks, k=k)
            )
            matching = database.chunks.count(tracks=tracks)
            assert len(hits) == min(k, matching)
            assert [hit.n for hit in hits] == list(range(1, len(hits) + 1))
            assert [hit.score for hit in hits] == sorted((h.score for h in hits), reverse=True)
            assert not tracks or {hit.track for hit in hits} <= set(tracks)
            assert all(-1.0001 <= (hit.vector_score or 0.0) <= 1.0001 for hit in hits)
