"""An approximate index, from its build to its use: it is measured first, and told on afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.errors import ContentError, DatabaseError
from ragctl.evaluate.recall import RECALL_AT, WIDTHS, Sample, measure_recall, narrowest
from ragctl.records.search import Query

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.db.vector_index import BuiltIndex, Extent, Measurement, OnProgress, OtherIndex
    from ragctl.records.recall import RecallFigures

EXACT_UP_TO = 50_000
WITH_WORKERS_UP_TO = 200_000
"""How many passages the exact scan serves well: in under 50 ms, and with parallel workers."""

CHANGED_ENOUGH = 0.1
"""A measurement tells of other rows once more than this share of them came or went."""

SAMPLES = 200
CREATE_COMMAND = "ragctl index create hnsw"
RECALL_COMMAND = "ragctl index recall"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """How passages are searched, and what there is to say about it.

    ``stale`` says, in words, why the measurement no longer tells of what is stored; empty where
    it does.
    """

    index: BuiltIndex | None
    others: tuple[OtherIndex, ...]
    extent: Extent
    changed_share: float | None
    stale: str

    @property
    def in_use(self) -> bool:
        """Whether searches use the index: not beside others, which might be taken in its place."""
        return self.index is not None and self.index.in_use and not self.others


def index_status(database: Database) -> IndexStatus:
    """Return how passages are searched."""
    index = database.vector_index.load()
    measurement = index.measurement if index else None
    extent = database.vector_index.extent(last_id=measurement.last_id if measurement else 0)
    identity = database.identity.load()
    model = identity.embedding.label if identity else ""
    return IndexStatus(
        index=index,
        others=tuple(database.vector_index.others()),
        extent=extent,
        changed_share=changed_share(measurement, extent) if measurement else None,
        stale=staleness(measurement, extent, model=model) if measurement else "",
    )


def changed_share(measurement: Measurement, extent: Extent) -> float:
    """Return how many passages came or went since, as a share of those that were there."""
    came, went = extent.rows - extent.kept, measurement.rows - extent.kept
    return (came + went) / max(measurement.rows, 1)


def staleness(measurement: Measurement, extent: Extent, *, model: str) -> str:
    """Return why a measurement no longer tells of what is stored; empty where it does."""
    if measurement.embedding_model != model:
        return (
            f"the recall was measured on other rows: vectors of {measurement.embedding_model}, "
            f"now they are of {model}"
        )
    share = changed_share(measurement, extent)
    if share > CHANGED_ENOUGH:
        return f"the recall was measured on other rows: {share:.0%} of them came or went since"
    return ""


def advice(rows: int) -> tuple[str, str, str]:
    """Return what is recommended for so many passages (``exact``, ``hnsw``), why, and how."""
    if rows <= EXACT_UP_TO:
        return "exact", f"the exact scan serves up to {EXACT_UP_TO:,} passages in under 50 ms", ""
    if rows <= WITH_WORKERS_UP_TO:
        why = f"the exact scan serves up to {WITH_WORKERS_UP_TO:,} passages with parallel workers"
        return "exact", why, ""
    why = f"with more than {WITH_WORKERS_UP_TO:,} passages the exact scan is felt"
    return "hnsw", why, CREATE_COMMAND


def create_hnsw(
    database: Database,
    samples: Callable[[], tuple[str, Sequence[Sample]]],
    *,
    m: int,
    ef_construction: int,
    width: int | None,
    embedding_model: str,
    on_progress: OnProgress,
    report: Callable[[int], None],
    clock: Callable[[], float],
) -> RecallFigures:
    """Build the index, measure it, and put it to use at ``width`` or the narrowest good one.

    It stays unused where no width is good enough and none was asked for. An index that was
    built alike before is measured anew. ``samples`` is called before the build, outside of any
    transaction. Whatever goes wrong, an index that was built here is removed again.
    """
    source, chosen = samples()
    before = database.vector_index.load()
    is_there = before is not None and (before.m, before.ef_construction) == (m, ef_construction)
    if not is_there:
        with database.transaction():
            database.vector_index.build(
                m=m, ef_construction=ef_construction, on_progress=on_progress
            )
    try:
        widths = sorted({*WIDTHS, *((width,) if width is not None else ())})
        figures = measured(database, source, chosen, widths=widths, report=report, clock=clock)
        use = width if width is not None else narrowest(figures)
        with database.transaction():
            database.vector_index.record(figures, embedding_model=embedding_model, width=use)
    except BaseException:
        if not is_there:
            with suppress(Exception):  # the connection may be what broke; it is not in use then
                database.vector_index.drop()
        raise
    return figures


def measured(
    database: Database,
    source: str,
    samples: Sequence[Sample],
    *,
    widths: Sequence[int],
    report: Callable[[int], None],
    clock: Callable[[], float],
) -> RecallFigures:
    """Hold the index against the exact scan at some widths, without changing anything.

    Raises :class:`~ragctl.errors.DatabaseError` where the server searches in another way: figures
    would tell of that.
    """
    scans = {width: database.vector_index.scan(width=width) for width in widths}
    query = Query(text="", vector=samples[0].vector, k=RECALL_AT)
    for scan in scans.values():
        if not database.vector_index.is_taken(scan, query):
            others = ", ".join(other.name for other in database.vector_index.others())
            raise DatabaseError(
                f"the server does not search by the index{f', but by {others}' if others else ''}",
                hint="Drop other indexes on chunks.embedding, or wait until transactions that are "
                "older than the index have ended, and run the command again.",
            )
    return measure_recall(
        samples,
        source=source,
        exact=database.exact_retriever(),
        by_width=scans,
        k=RECALL_AT,
        clock=clock,
        report=report,
    )


def passage_samples(database: Database, *, at_most: int = SAMPLES) -> tuple[str, list[Sample]]:
    """Return passages to search for, each of which is left out of what is found.

    Raises :class:`~ragctl.errors.ContentError` where there are none.
    """
    found = database.vector_index.sample(at_most=at_most)
    if not found:
        raise ContentError(
            "nothing has been ingested yet", hint="Run `ragctl ingest PATH/TO/CONTENT` first."
        )
    samples = [Sample(vector=vector, own_id=chunk_id) for chunk_id, vector in found]
    return "passages", samples
