from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from ragctl.errors import EmbeddingRefused, ModelReplyError, ModelUnreachable
from ragctl.records.chunks import Chunk, EmbeddedChunk, RefusedChunk
from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector
from ragctl.stages.embed import EmbeddedBatch, content_hash, embed, embedded_text


def chunk(body: str, *, position: int = 0, breadcrumb: str = "") -> Chunk:
    return Chunk(
        url="/a",
        track="t",
        position=position,
        ref=f"/a#c{position}",
        section=None,
        anchor=None,
        breadcrumb=breadcrumb,
        start_char=position,
        end_char=position,
        body=body,
    )


def chunks(count: int) -> list[Chunk]:
    return [chunk(f"text {n}", position=n) for n in range(count)]


def vector_of(text: str) -> Vector:
    return array("f", [float(len(text)), float(sum(map(ord, text)))])


class Model:
    """A fake embedder: refuses texts with a marked word, notes what it was sent."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.requests: list[list[str]] = []
        self.at_once = 0
        self.most_at_once = 0
        self._seconds = seconds
        self._lock = threading.Lock()

    @property
    def identity(self) -> EmbeddingIdentity:
        return EmbeddingIdentity(
            provider="fake",
            model="m",
            digest="",
            dimensions=2,
            document_prefix="",
            query_prefix="",
        )

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        assert purpose == "document"
        with self._lock:
            self.requests.append(list(texts))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self._seconds)
        with self._lock:
            self.at_once -= 1
        for text in texts:
            if "LONG" in text:
                raise EmbeddingRefused("over 512 tokens", reason="too_long")
            if "DOWN" in text:
                raise ModelUnreachable("no answer")
        return [vector_of(text) for text in texts]

    @property
    def sent(self) -> list[str]:
        return [text for request in self.requests for text in request]


def flat(batches: Iterator[EmbeddedBatch]) -> list[EmbeddedChunk | RefusedChunk]:
    return [result for batch in batches for result in batch.results]


def test_the_breadcrumb_is_embedded_and_hashed_with_the_body() -> None:
    assert embedded_text(chunk("Body.", breadcrumb="Page > Part")) == "Page > Part\n\nBody."
    assert embedded_text(chunk("Body.")) == "Body."
    assert content_hash("é") == hashlib.sha256("é".encode()).hexdigest()
    assert content_hash("\ud800") != content_hash("")


def test_passages_come_out_in_order_with_their_own_vectors() -> None:
    model = Model(seconds=0.002)
    given = chunks(101)
    results = flat(embed(given, model, batch_size=8, in_flight=3))
    assert [result.chunk for result in results] == given
    for result in results:
        assert isinstance(result, EmbeddedChunk)
        assert result.vector == vector_of(result.chunk.body)
        assert result.content_hash == content_hash(result.chunk.body)
    assert max(len(request) for request in model.requests) == 8
    assert len(model.requests) == 13


def test_several_requests_run_at_once_but_not_more_than_asked() -> None:
    model = Model(seconds=0.03)
    list(embed(chunks(40), model, batch_size=4, in_flight=3))
    assert model.most_at_once == 3


def test_nothing_to_embed_needs_no_model() -> None:
    assert list(embed([], Model())) == []


def test_known_vectors_are_not_sent_and_not_counted_as_computed() -> None:
    model = Model()
    given = chunks(10)
    stored = {content_hash(c.body): array("f", [9.0, 9.0]) for c in given[:6]}
    asked: list[str] = []

    def known(hashes: Sequence[str]) -> Mapping[str, Vector]:
        assert threading.current_thread() is threading.main_thread()
        asked.extend(hashes)
        return {key: stored[key] for key in hashes if key in stored}

    batches = list(embed(given, model, known=known, batch_size=4))
    results = flat(iter(batches))
    assert [result.chunk for result in results] == given
    assert sorted(model.sent) == [c.body for c in given[6:]]
    assert all(isinstance(r, EmbeddedChunk) and r.vector[0] == 9.0 for r in results[:6])
    assert sum(batch.sent for batch in batches) == 4
    computed = {key for batch in batches for key in batch.computed}
    assert computed == {content_hash(c.body) for c in given[6:]}
    assert sorted(asked) == sorted(content_hash(c.body) for c in given)


def test_a_text_is_sent_once_however_often_it_occurs() -> None:
    model = Model(seconds=0.005)
    given = [chunk(f"text {n % 5}", position=n) for n in range(60)]
    results = flat(embed(given, model, batch_size=4))
    assert sorted(model.sent) == [f"text {n}" for n in range(5)]
    assert [result.chunk for result in results] == given
    assert all(
        isinstance(r, EmbeddedChunk) and r.vector == vector_of(r.chunk.body) for r in results
    )


@pytest.mark.parametrize("place", [0, 1, 15, 31])
def test_a_refused_text_is_isolated_by_halving(place: int) -> None:
    model = Model()
    given = chunks(32)
    given[place] = chunk("LONG", position=place)
    (batch,) = embed(given, model)
    refused = [r for r in batch.results if isinstance(r, RefusedChunk)]
    assert [(r.chunk, r.reason, r.message) for r in refused] == [
        (given[place], "too_long", "over 512 tokens")
    ]
    assert [r.chunk for r in batch.results] == given
    assert len(batch.computed) == 31
    assert len(model.requests) == 11
    assert all(one != next_one for one, next_one in pairwise(model.requests))


def test_a_refused_text_that_occurs_again_is_refused_without_asking() -> None:
    model = Model()
    given = [chunk("LONG", position=n) for n in range(20)]
    results = flat(embed(given, model, batch_size=4))
    assert all(isinstance(r, RefusedChunk) for r in results)
    assert model.sent == ["LONG"]


def test_an_error_comes_after_all_earlier_batches() -> None:
    model = Model()
    given = chunks(40)
    given[25] = chunk("DOWN")
    seen: list[Chunk] = []
    with pytest.raises(ModelUnreachable):
        for batch in embed(given, model, batch_size=8, in_flight=2):
            seen += [result.chunk for result in batch.results]
    assert seen == given[:24]
    assert len(model.requests) < 5 + 2


def test_an_embedder_that_loses_a_text_is_found_out() -> None:
    class Loses(Model):
        def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
            return super().embed(texts, purpose=purpose)[1:]

    with pytest.raises(ModelReplyError, match="3 vectors for 4 texts"):
        list(embed(chunks(4), Loses()))


def test_passages_are_read_only_as_far_ahead_as_needed() -> None:
    read = 0

    def source() -> Iterator[Chunk]:
        nonlocal read
        for c in chunks(10_000):
            read += 1
            yield c

    batches = embed(source(), Model(), batch_size=8, in_flight=2)
    next(batches)
    assert read <= 8 * 4
    batches.close()  # type: ignore[attr-defined]


def test_known_passages_are_handed_out_in_bounded_batches() -> None:
    def known(hashes: Sequence[str]) -> Mapping[str, Vector]:
        return {key: array("f", [1.0, 1.0]) for key in hashes}

    sizes = [len(batch.results) for batch in embed(chunks(1000), Model(), known=known)]
    assert sum(sizes) == 1000
    assert max(sizes) <= 256


def test_threads_end_when_the_generator_is_left() -> None:
    before = threading.active_count()
    batches = embed(chunks(100), Model(seconds=0.01), batch_size=4)
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    end = time.monotonic() + 2
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_an_interrupt_ends_the_program_while_a_request_hangs() -> None:
    code = """
import os, signal, sys, threading, time
sys.path[:0] = sys.argv[1:]
from test_embed import Model, chunks
from ragctl.stages.embed import embed
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    list(embed(chunks(10), Model(seconds=60)))
except KeyboardInterrupt:
    print("interrupted")
"""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent), *sys.path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "interrupted", done.stderr
    assert time.monotonic() - start < 5
