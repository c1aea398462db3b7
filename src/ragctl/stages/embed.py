"""Stage 3: passages to vectors, in batches, in order, with nothing lost in silence.

A text that the model refuses for what it is (too long, NaN) is found by halving its batch: with
one such text among 32 that takes six refused requests and five that pass. Requests run on
daemon threads, so that an interrupt ends the program even while a server hangs.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from ragctl.errors import EmbeddingRefused, ModelReplyError
from ragctl.records.chunks import Chunk, EmbeddedChunk, RefusedChunk
from ragctl.records.vectors import Vector

if TYPE_CHECKING:
    from ragctl.protocols import Embedder

REMEMBERED_TEXTS: Final = 1024
CHUNKS_PER_TEXT: Final = 8

Known: TypeAlias = Callable[[Sequence[str]], Mapping[str, Vector]]
"""Looks content hashes up; returns the vectors it has, by hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedBatch:
    """Passages that came out together, in input order.

    ``computed`` are the vectors made for this batch, by content hash, each once: what a cache
    should store. ``sent`` counts the texts sent to the model for it, refused ones included.
    """

    results: tuple[EmbeddedChunk | RefusedChunk, ...]
    computed: Mapping[str, Vector]
    sent: int


def embedded_text(chunk: Chunk) -> str:
    """Return what is embedded for a passage: breadcrumb, blank line, body."""
    return f"{chunk.breadcrumb}\n\n{chunk.body}" if chunk.breadcrumb else chunk.body


def content_hash(text: str) -> str:
    """Return the sha256 of a text in UTF-8, in hexadecimal (64 characters)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def embed(
    chunks: Iterable[Chunk],
    embedder: Embedder,
    *,
    known: Known = lambda hashes: {},
    batch_size: int = 32,
    in_flight: int = 2,
) -> Iterator[EmbeddedBatch]:
    """Yield the passages with their vectors, a batch at a time, in input order.

    ``known`` is asked on the caller's thread, ``batch_size`` hashes at a time, before anything
    is sent. A text is sent once, however often it occurs (the last 1024 are remembered here,
    older ones are left to ``known``). At most ``in_flight`` requests run at once and a batch
    holds at most ``8 * batch_size`` passages: memory does not grow with the site.

    A text that the model refuses becomes a :class:`~ragctl.records.RefusedChunk`; any other
    :class:`~ragctl.errors.ModelError` is raised after all earlier batches have been yielded.
    Closing the generator waits for no request.
    """
    memory = _Memory(max(REMEMBERED_TEXTS, 2 * (in_flight + 1) * batch_size))
    waiting: deque[_Batch] = deque()
    with _Workers(embedder, count=in_flight) as workers:
        for batch in _batches(chunks, known, memory, batch_size):
            batch.done = workers.start(list(batch.to_send.values()))
            waiting.append(batch)
            while waiting and (waiting[0].done.done() or len(waiting) > in_flight):
                yield waiting.popleft().finish(memory)
        while waiting:
            yield waiting.popleft().finish(memory)


@dataclass(frozen=True, slots=True)
class _Refusal:
    reason: str
    message: str


_Outcome: TypeAlias = "Vector | _Refusal"


class _Memory:
    """Outcomes of recent texts by hash, and the hashes now in work."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.in_work: set[str] = set()
        self._recent: OrderedDict[str, _Outcome] = OrderedDict()

    def has(self, key: str) -> bool:
        return key in self._recent or key in self.in_work

    def get(self, key: str) -> _Outcome | None:
        return self._recent.get(key)

    def put(self, key: str, outcome: _Outcome) -> None:
        self.in_work.discard(key)
        self._recent[key] = outcome
        if len(self._recent) > self._limit:
            self._recent.popitem(last=False)


@dataclass(slots=True)
class _Batch:
    """Passages on their way: ``to_send`` are the texts for the model by hash."""

    chunks: list[tuple[Chunk, str]] = field(default_factory=list)
    to_send: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, _Outcome] = field(default_factory=dict)
    done: Future[list[_Outcome]] = field(default_factory=Future)

    def finish(self, memory: _Memory) -> EmbeddedBatch:
        """Wait for the model and put vectors to passages; earlier batches must be finished."""
        computed = {}
        for key, outcome in zip(self.to_send, self.done.result(), strict=True):
            self.outcomes[key] = outcome
            memory.put(key, outcome)
            if not isinstance(outcome, _Refusal):
                computed[key] = outcome
        results = tuple(self._result(chunk, key, memory) for chunk, key in self.chunks)
        return EmbeddedBatch(results=results, computed=computed, sent=len(self.to_send))

    def _result(self, chunk: Chunk, key: str, memory: _Memory) -> EmbeddedChunk | RefusedChunk:
        outcome = self.outcomes.get(key)
        if outcome is None:
            outcome = memory.get(key)
        assert outcome is not None, "a text in work belongs to an earlier batch"
        if isinstance(outcome, _Refusal):
            return RefusedChunk(chunk=chunk, reason=outcome.reason, message=outcome.message)
        return EmbeddedChunk(chunk=chunk, vector=outcome, content_hash=key)


def _batches(
    chunks: Iterable[Chunk], known: Known, memory: _Memory, batch_size: int
) -> Iterator[_Batch]:
    """Cut the passages into batches of ``batch_size`` texts to send."""
    source = iter(chunks)
    batch = _Batch()
    while group := list(islice(source, batch_size)):
        texts = [embedded_text(chunk) for chunk in group]
        keys = [content_hash(text) for text in texts]
        wanted = [key for key in dict.fromkeys(keys) if not memory.has(key)]
        found = known(wanted) if wanted else {}
        for chunk, text, key in zip(group, texts, keys, strict=True):
            batch.chunks.append((chunk, key))
            outcome = memory.get(key) if key not in found else found[key]
            if outcome is not None:
                batch.outcomes[key] = outcome
            elif key not in memory.in_work:
                memory.in_work.add(key)
                batch.to_send[key] = text
            if len(batch.to_send) >= batch_size or len(batch.chunks) >= (
                CHUNKS_PER_TEXT * batch_size
            ):
                yield batch
                batch = _Batch()
    if batch.chunks:
        yield batch


class _Workers:
    """``count`` daemon threads that embed; leaving waits for none of them.

    Not a ThreadPoolExecutor: its threads are joined at exit, where a hanging request would hold
    the program.
    """

    def __init__(self, embedder: Embedder, *, count: int) -> None:
        self._embedder = embedder
        self._count = count
        self._started = 0
        self._left = threading.Event()
        self._jobs: queue.SimpleQueue[tuple[list[str], Future[list[_Outcome]]] | None] = (
            queue.SimpleQueue()
        )

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self._left.set()
        for _ in range(self._started):
            self._jobs.put(None)

    def start(self, texts: list[str]) -> Future[list[_Outcome]]:
        """Embed ``texts`` on a thread; none are embedded at once."""
        done: Future[list[_Outcome]] = Future()
        if not texts:
            done.set_result([])
            return done
        if self._started < self._count:
            threading.Thread(target=self._work, name="embed", daemon=True).start()
            self._started += 1
        self._jobs.put((texts, done))
        return done

    def _work(self) -> None:
        while job := self._jobs.get():
            texts, done = job
            try:
                done.set_result(self._outcomes(texts))
            except BaseException as error:
                done.set_exception(error)

    def _outcomes(self, texts: list[str]) -> list[_Outcome]:
        """Embed, halving a refused batch until the text at fault stands alone."""
        if self._left.is_set():
            raise ModelReplyError("embedding was stopped")
        try:
            vectors = self._embedder.embed(texts, purpose="document")
        except EmbeddingRefused as error:
            if len(texts) == 1:
                return [_Refusal(error.reason, error.message)]
            middle = len(texts) // 2
            return self._outcomes(texts[:middle]) + self._outcomes(texts[middle:])
        if len(vectors) != len(texts):
            raise ModelReplyError(
                f"the embedder gave {len(vectors)} vectors for {len(texts)} texts"
            )
        return list(vectors)
