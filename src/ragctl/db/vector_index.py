"""The table ``vector_index`` and the index it speaks of: HNSW over ``chunks.embedding``.

HNSW (Malkov and Yashunin: Efficient and Robust Approximate Nearest Neighbor Search Using
Hierarchical Navigable Small World Graphs, 2016) finds near neighbours by walking a graph, and may
miss some. Searches use it only once it was measured and marked as in use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import class_row, dict_row, scalar_row

from ragctl.db.connect import Connection, connect, translated
from ragctl.db.search import IndexScan, index_in_use
from ragctl.db.statements import statement
from ragctl.db.values import from_database, to_json
from ragctl.records.recall import RecallFigures, WidthRecall

if TYPE_CHECKING:
    from ragctl.records.search import Query
    from ragctl.records.vectors import Vector

INDEX_NAME = "chunks_nearest_hnsw"
SECONDS_BETWEEN_LOOKS = 1.0

OnProgress = Callable[[int], None]
"""Takes how many rows a build has taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What was measured with the index: when, over which rows, with vectors of which model."""

    figures: RecallFigures
    at: datetime
    rows: int
    last_id: int
    embedding_model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIndex:
    """The index that ragctl built; ``width`` is ``None`` where no width is good enough."""

    method: str
    m: int
    ef_construction: int
    width: int | None
    in_use: bool
    size_bytes: int
    created_at: datetime
    measurement: Measurement | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherIndex:
    """An index on the vectors that ragctl did not build."""

    name: str
    method: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How many passages there are, how many of them have an id up to a known one, and the table.

    ``is_iterative`` says that the server can filter an index search without losing rows.
    """

    rows: int
    kept: int
    table_bytes: int
    is_iterative: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    method: str
    m: int
    ef_construction: int
    width: int | None
    in_use: bool
    measured: Mapping[str, Any] | None
    measured_at: datetime | None
    measured_rows: int | None
    measured_last_id: int | None
    measured_model: str | None
    created_at: datetime
    size_bytes: int

    def built(self) -> BuiltIndex:
        """Return the row as a record."""
        same = ("method", "m", "ef_construction", "width", "in_use", "size_bytes", "created_at")
        return BuiltIndex(
            **{name: getattr(self, name) for name in same}, measurement=self._measurement()
        )

    def _measurement(self) -> Measurement | None:
        if self.measured is None or self.measured_at is None:
            return None
        widths = tuple(WidthRecall(**width) for width in self.measured["widths"])
        return Measurement(
            figures=RecallFigures(**{**self.measured, "widths": widths}),
            at=self.measured_at,
            rows=self.measured_rows or 0,
            last_id=self.measured_last_id or 0,
            embedding_model=self.measured_model or "",
        )


class VectorIndex:
    """Builds, measures, marks and removes the index."""

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url

    def load(self) -> BuiltIndex | None:
        """Return the index that ragctl built; ``None`` where there is none."""
        with self._connection.cursor(row_factory=class_row(_Row)) as cursor:
            row = cursor.execute(statement("vector_index/select")).fetchone()
        return None if row is None else row.built()

    def others(self) -> list[OtherIndex]:
        """Return the indexes on the vectors that somebody else built."""
        with self._connection.cursor(row_factory=class_row(OtherIndex)) as cursor:
            return cursor.execute(statement("vector_index/others")).fetchall()

    def extent(self, *, last_id: int = 0) -> Extent:
        """Count the passages, and those of them with an id up to ``last_id``."""
        with self._connection.cursor(row_factory=class_row(Extent)) as cursor:
            found = cursor.execute(statement("vector_index/extent"), {"last_id": last_id})
            extent = found.fetchone()
        assert extent is not None
        return extent

    def build(self, *, m: int, ef_construction: int, on_progress: OnProgress) -> None:
        """Build the index in place of an older one, not in use; call it inside a transaction.

        A build that fails or is interrupted leaves nothing, as its transaction does.
        """
        values = {"m": m, "ef_construction": ef_construction}
        self.drop()
        with self._watched(on_progress):
            self._create_somehow(values)
        self._connection.execute(statement("vector_index/insert"), values)

    def expect_rebuild(self) -> None:
        """For this transaction: memory for the index, where there is one, to be made again."""
        built = self.load()
        if built is not None:
            limits = {"m": built.m, "parallel": False}
            self._connection.execute(statement("vector_index/build_limits"), limits)

    def rebuild(self) -> None:
        """Build the index that the table speaks of, where it is not there; inside a transaction."""
        with self._connection.cursor(row_factory=dict_row) as cursor:
            values = cursor.execute(statement("vector_index/shape")).fetchone()
        if values is not None:
            self._create_somehow(values)

    def _create_somehow(self, values: Mapping[str, int]) -> None:
        try:
            self._create(values, parallel=True)
        except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
            # the graph did not fit into what processes can share: in containers often 64 MB
            self._create(values, parallel=False)

    def _create(self, values: Mapping[str, int], *, parallel: bool) -> None:
        limits = {"m": values["m"], "parallel": parallel}
        with self._connection.transaction(), psycopg.ClientCursor(self._connection) as cursor:
            self._connection.execute(statement("vector_index/build_limits"), limits)
            cursor.execute(statement("vector_index/create_hnsw"), values)

    def record(self, figures: RecallFigures, *, embedding_model: str, width: int | None) -> None:
        """Note what was measured, and the width that searches use from now on, or none.

        Raises :class:`~ragctl.errors.DatabaseUnsuitable` where the role may not write.
        """
        measured = {
            **{name: getattr(figures, name) for name in ("source", "questions", "k", "exact_ms")},
            "widths": [
                {"width": each.width, "recall": each.recall, "median_ms": each.median_ms}
                for each in figures.widths
            ],
        }
        values = {"measured": to_json(measured), "model": embedding_model, "width": width}
        with translated(self._url):
            self._connection.execute(statement("vector_index/measure"), values)

    def drop(self) -> None:
        """Remove the index that ragctl built, and the note of it; searches are exact then."""
        with self._connection.transaction():
            self._connection.execute(statement("vector_index/drop_hnsw"))
            self._connection.execute(statement("vector_index/delete"))

    def scan(self, *, width: int) -> IndexScan:
        """Return a search by the index at a width, whether or not it is in use."""
        return IndexScan(self._connection, width=width, is_iterative=self.extent().is_iterative)

    def in_use(self) -> IndexScan | None:
        """Return the search by the index that is in use; ``None`` where searches are exact."""
        return index_in_use(self._connection)

    def is_taken(self, scan: IndexScan, query: Query) -> bool:
        """Tell whether the server does a search by this index, and not in some other way."""
        return INDEX_NAME in scan.indexes(query)

    def sample(self, *, at_most: int) -> Sequence[tuple[int, Vector]]:
        """Return the ids and vectors of some passages, the same ones every time."""
        with self._connection.cursor(binary=True) as cursor:
            rows = cursor.execute(statement("chunks/sample"), {"at_most": at_most})
            return [(chunk_id, from_database(vector)) for chunk_id, vector in rows]

    @contextmanager
    def _watched(self, on_progress: OnProgress) -> Iterator[None]:
        """Tell how far a statement of ours is, from a connection that is not busy with it."""
        stop = threading.Event()
        pid = self._connection.info.backend_pid
        watch = threading.Thread(target=self._watch, args=(pid, stop, on_progress), daemon=True)
        watch.start()
        try:
            yield
        finally:
            stop.set()

    def _watch(self, pid: int, stop: threading.Event, on_progress: OnProgress) -> None:
        with suppress(Exception), connect(self._url) as connection:
            cursor = connection.cursor(row_factory=scalar_row)
            while not stop.wait(SECONDS_BETWEEN_LOOKS):
                done = cursor.execute(statement("vector_index/progress"), {"pid": pid}).fetchone()
                if done is not None:
                    on_progress(done)
