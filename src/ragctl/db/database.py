"""The database of one site: a connection and its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

from ragctl.db.chunks import Chunks
from ragctl.db.connect import Connection, register_vectors, translated
from ragctl.db.index_identity import Identity, Site
from ragctl.db.migrate import pending, require_readable
from ragctl.db.pages import Pages
from ragctl.db.search import (
    Coverage,
    HybridRetriever,
    KeywordRetriever,
    Rankings,
    TermShares,
    VectorRetriever,
    index_in_use,
)
from ragctl.errors import ContentError, SchemaMismatch

if TYPE_CHECKING:
    from ragctl.db.answer_cache import CacheBounds, StoredAnswers
    from ragctl.db.breakers import StoredBreakers
    from ragctl.db.calibrations import Calibrations
    from ragctl.db.embedding_cache import EmbeddingCache
    from ragctl.db.evaluations import Evaluations
    from ragctl.db.feedback import FeedbackTable
    from ragctl.db.ingest_runs import IngestRuns
    from ragctl.db.lease import IngestLease, LeaseHolder
    from ragctl.db.question_embeddings import QuestionEmbeddings
    from ragctl.db.rates import QuestionRates
    from ragctl.db.room import Room
    from ragctl.db.search import NamesAsked
    from ragctl.db.signals import SignalTables
    from ragctl.db.slots import StoredSlots
    from ragctl.db.traces import Traces
    from ragctl.db.vector_index import VectorIndex
    from ragctl.records.vectors import EmbeddingIdentity


class Database:
    """A migrated database; use it as a context manager, inside which errors are translated.

    The module of a table that few commands need is loaded when that table is asked for.
    """

    def __init__(self, connection: Connection, url: str) -> None:
        self.url = url
        self._connection = connection
        self._lease: IngestLease | None = None
        self.pages = Pages(connection)
        self.chunks = Chunks(connection)
        self.site = Site(connection)
        self.identity = Identity(connection)

    @cached_property
    def runs(self) -> IngestRuns:
        """Return what ingests left behind of themselves."""
        from ragctl.db.ingest_runs import IngestRuns

        return IngestRuns(self._connection)

    @cached_property
    def room(self) -> Room:
        """Return the room that tables take on disk."""
        from ragctl.db.room import Room

        return Room(self._connection)

    @cached_property
    def traces(self) -> Traces:
        """Return the questions that were asked."""
        from ragctl.db.traces import Traces

        return Traces(self._connection, self.url)

    @cached_property
    def signals(self) -> SignalTables:
        """Return what is counted of the questions."""
        from ragctl.db.signals import SignalTables

        return SignalTables(self._connection, self.url)

    @cached_property
    def feedback(self) -> FeedbackTable:
        """Return what persons said of answers."""
        from ragctl.db.feedback import FeedbackTable

        return FeedbackTable(self._connection, self.url)

    @cached_property
    def calibrations(self) -> Calibrations:
        """Return the calibrations of evidence."""
        from ragctl.db.calibrations import Calibrations

        return Calibrations(self._connection)

    @cached_property
    def evaluations(self) -> Evaluations:
        """Return the measured runs over questions."""
        from ragctl.db.evaluations import Evaluations

        return Evaluations(self._connection, self.url)

    @cached_property
    def vector_index(self) -> VectorIndex:
        """Return the index over the vectors."""
        from ragctl.db.vector_index import VectorIndex

        return VectorIndex(self._connection, self.url)

    @cached_property
    def breakers(self) -> StoredBreakers:
        """Return the breakers of the routes."""
        from ragctl.db.breakers import StoredBreakers

        return StoredBreakers(self._connection, self.url)

    @cached_property
    def rates(self) -> QuestionRates:
        """Return the count of questions a minute."""
        from ragctl.db.rates import QuestionRates

        return QuestionRates(self._connection, self.url)

    @classmethod
    def over(cls, connection: Connection, url: str) -> Database:
        """Wrap a connection whose schema is up to date.

        Raises :class:`~ragctl.errors.ContentError` for a database without tables, and
        :class:`~ragctl.errors.SchemaMismatch` for one that must be migrated first.
        """
        todo = pending(connection, url)
        if todo and todo[0].version == 1:
            require_readable(connection, url)
            raise ContentError(
                "nothing has been ingested yet", hint="Run `ragctl ingest PATH/TO/CONTENT` first."
            )
        if todo:
            raise SchemaMismatch(
                f"the tables are older than this ragctl (next step: {todo[0].name})",
                hint="Run `ragctl db migrate`.",
            )
        register_vectors(connection, url)
        return cls(connection, url)

    def retriever(
        self, mode: str, *, names_asked: NamesAsked
    ) -> VectorRetriever | KeywordRetriever | HybridRetriever:
        """Return what finds passages in a mode: ``hybrid``, ``vector`` or ``keyword``."""
        if mode == "keyword":
            return KeywordRetriever(self._connection, names_asked=names_asked)
        index = index_in_use(self._connection)
        if mode == "vector":
            return VectorRetriever(self._connection, index=index)
        return HybridRetriever(self._connection, names_asked=names_asked, index=index)

    def exact_retriever(self) -> VectorRetriever:
        """Return what finds the nearest passages by the exact scan, whatever index is in use."""
        return VectorRetriever(self._connection)

    def rankings(self, *, names_asked: NamesAsked) -> Rankings:
        """Return what ranks passages among all."""
        return Rankings(self._connection, names_asked=names_asked)

    def term_shares(self, *, names_asked: NamesAsked) -> TermShares:
        """Return what takes keyword scores apart."""
        return TermShares(self._connection, names_asked=names_asked)

    def coverage(self, *, names_asked: NamesAsked) -> Coverage:
        """Return what tells which terms of a question some passages hold."""
        return Coverage(self._connection, names_asked=names_asked)

    def embedding_cache(self, identity: EmbeddingIdentity) -> EmbeddingCache:
        """Return the vectors known for one embedding model."""
        from ragctl.db.embedding_cache import EmbeddingCache

        return EmbeddingCache(self._connection, identity)

    def answer_cache(self, *, bounds: CacheBounds) -> StoredAnswers:
        """Return the answers that may be given again."""
        from ragctl.db.answer_cache import StoredAnswers

        return StoredAnswers(self._connection, self.url, bounds=bounds)

    def question_embeddings(
        self, identity: EmbeddingIdentity, *, bounds: CacheBounds
    ) -> QuestionEmbeddings:
        """Return the vectors of questions known for one embedding model."""
        from ragctl.db.question_embeddings import QuestionEmbeddings

        return QuestionEmbeddings(self._connection, self.url, identity=identity, bounds=bounds)

    def slots(self, *, at_once: int) -> StoredSlots:
        """Return one question's way through the queue in front of the models."""
        from ragctl.db.slots import StoredSlots

        return StoredSlots(self._connection, self.url, at_once=at_once)

    def someone_asks(self) -> bool:
        """Tell whether a model writes an answer or a question waits for that."""
        from ragctl.db.slots import is_busy

        return is_busy(self._connection, self.url)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what the block writes; inside an ingest only while it has the lease."""
        with self._connection.transaction():
            if self._lease is not None:
                self._lease.require()
            yield

    @contextmanager
    def ingesting(
        self, *, wait: bool = False, on_wait: Callable[[LeaseHolder], None] = lambda _holder: None
    ) -> Iterator[None]:
        """Be the only ingest for the block; see :meth:`~ragctl.db.lease.IngestLease.held`."""
        from ragctl.db.lease import IngestLease

        lease = IngestLease(self._connection, self.url)
        with lease.held(wait=wait, on_wait=on_wait):
            self._lease = lease
            try:
                yield
            finally:
                self._lease = None

    def __enter__(self) -> Database:
        self._translation = translated(self.url)
        self._translation.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._connection.close()
        finally:
            self._translation.__exit__(kind, error, trace)
