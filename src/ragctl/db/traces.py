"""The tables ``traces`` and ``spans``: every question that was asked, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row, scalar_row

from ragctl.db.address import redacted
from ragctl.db.connect import Connection, translated
from ragctl.db.statements import statement
from ragctl.db.values import storable, to_json
from ragctl.errors import DatabaseReadOnly
from ragctl.records.answers import Citation, Problem, Timings
from ragctl.records.traces import Span, Trace, TracedHit, TraceFilter

_PHASES = ("embed", "search", "queue", "prefill", "decode", "total")
UPKEEP_BATCH = 20  # each of the answers that follow takes as many, until none is left
PURGE_BATCH = 500
EXPORT_BATCH = 200
_EVIDENCE = ("top_cosine", "idf_share", "probability", "prompt_counted")


class Traces:
    """Writes and finds traces; a :class:`~ragctl.protocols.Tracer`."""

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url

    def record(self, trace: Trace) -> None:
        """Store a trace with its spans.

        Waits neither for the disk nor long for other sessions: a trace may be lost with the
        server, an answer must not wait. Raises :class:`~ragctl.errors.DatabaseUnsuitable` where
        the role or the server does not let us write, other
        :class:`~ragctl.errors.DatabaseError` where it fails.
        """
        values = _cleaned(_values(trace))
        with translated(self._url):
            try:
                with self._connection.transaction():
                    self._connection.execute(statement("traces/limits"))
                    self._connection.execute(statement("traces/insert"), values)
            except psycopg.errors.ReadOnlySqlTransaction as error:
                raise DatabaseReadOnly(
                    f"{redacted(self._url)} is read-only",
                    hint="Set traces.record to off, or ask a server that can be written to.",
                ) from error

    def keep_up(self, *, keep_days: int, keep_text_days: int) -> None:
        """Remove a few traces that are older, and the texts of a few; 0 days mean for ever.

        Does nothing for an hour once there was none left, whichever process looked; raises
        :class:`~ragctl.errors.DatabaseError` where the role may not.
        """
        values = {"keep_days": keep_days, "keep_text_days": keep_text_days}
        with translated(self._url):
            row = self._connection.execute(statement("traces/upkeep_due")).fetchone()
            if row is None or not row[0]:
                return
            with self._connection.transaction():
                self._connection.execute(statement("traces/limits"))
                self._connection.execute(
                    statement("traces/upkeep"), {**values, "at_most": UPKEEP_BATCH}
                )

    def recent(self, *, at_most: int) -> list[Trace]:
        """Return the newest traces, newest first."""
        return self.matching(TraceFilter(), at_most=at_most)

    def beginning_with(self, prefix: str, *, at_most: int) -> list[Trace]:
        """Return the newest traces whose id begins with a prefix, newest first."""
        return self.matching(TraceFilter(prefix=storable(prefix)), at_most=at_most)

    def matching(
        self, wanted: TraceFilter, *, at_most: int, before_id: str | None = None
    ) -> list[Trace]:
        """Return the newest traces that fit, newest first, all older than ``before_id``."""
        values = {name: getattr(wanted, name) for name in wanted.__slots__}
        values |= {"at_most": at_most, "before_id": before_id}
        with self._connection.cursor(row_factory=class_row(_Row)) as cursor:
            rows = cursor.execute(statement("traces/select"), values).fetchall()
        return [row.trace() for row in rows]

    def each(self, wanted: TraceFilter) -> Iterator[Trace]:
        """Yield all traces that fit, newest first; only a few are in memory at once."""
        last: str | None = None
        while batch := self.matching(wanted, at_most=EXPORT_BATCH, before_id=last):
            yield from batch
            last = batch[-1].id

    def count_before(self, moment: datetime) -> tuple[int, int]:
        """Return how many traces were asked before a moment, and how many hold texts."""
        row = self._connection.execute(
            statement("traces/count_before"), {"before": moment}
        ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1])

    def remove_before(self, moment: datetime) -> int:
        """Remove the traces that were asked before a moment; return how many."""
        return self._in_batches("traces/remove", moment)

    def empty_before(self, moment: datetime) -> int:
        """Take the texts out of the traces that were asked before a moment; return of how many."""
        return self._in_batches("traces/empty", moment)

    def _in_batches(self, name: str, moment: datetime) -> int:
        done, values = 0, {"before": moment, "at_most": PURGE_BATCH}
        with translated(self._url):
            while True:
                row = self._connection.execute(statement(name), values).fetchone()
                count = int(row[0]) if row is not None else 0
                done += count
                if count < PURGE_BATCH:
                    return done

    def questions(self, *, at_most: int) -> list[str]:
        """Return questions that passages were searched for, each once, the newest first."""
        with (
            translated(self._url),
            self._connection.cursor(row_factory=scalar_row) as cursor,
        ):
            return cursor.execute(statement("traces/questions"), {"at_most": at_most}).fetchall()

    def token_ratio(self) -> float:
        """Return how many tokens servers count for one of ours, at most and at least 1.

        Where traces cannot be read, or not at once, it is 1: an answer must not wait for that.
        """
        try:
            with self._connection.transaction():
                self._connection.execute(statement("traces/limits"))
                row = self._connection.execute(statement("traces/token_ratio")).fetchone()
        except psycopg.DatabaseError:
            if self._connection.closed:
                raise
            return 1.0
        return max(1.0, float(row[0])) if row and row[0] is not None else 1.0


def _values(trace: Trace) -> dict[str, object]:
    same = (
        *("id", "asked_at", "question", "k", "embedding_model", "route", "template", "prompt"),
        *("answer", "finish", "refused", "degraded", "prompt_tokens", "output_tokens"),
        *("error_code", "error_message", "mode", "cached", *_EVIDENCE),
    )
    return {
        **{name: getattr(trace, name) for name in same},
        **{f"{phase}_ms": getattr(trace.timings, phase) for phase in _PHASES},
        "tracks": list(trace.tracks),
        "pages": list(trace.pages),
        "problems": [_fields(problem) for problem in trace.problems],
        "hits": [_fields(hit) for hit in trace.hits],
        "citations": [_fields(citation) for citation in trace.citations],
        "spans": [
            {"position": position, **_fields(span)} for position, span in enumerate(trace.spans)
        ],
    }


def _fields(record: Problem | TracedHit | Citation | Span) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}


def _cleaned(values: Mapping[str, object]) -> dict[str, object]:
    """Return values as columns take them: texts that can be stored, records as JSON."""
    as_json = ("problems", "hits", "citations", "spans")
    cleaned = {name: _clean(value) for name, value in values.items()}
    return {name: to_json(value) if name in as_json else value for name, value in cleaned.items()}


def _clean(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {name: _clean(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: str
    asked_at: datetime
    question: str | None
    tracks: Sequence[str]
    k: int
    embedding_model: str
    route: str
    template: str
    prompt: str | None
    answer: str | None
    finish: str
    refused: bool
    degraded: bool
    problems: Sequence[Mapping[str, Any]]
    hits: Sequence[Mapping[str, Any]]
    citations: Sequence[Mapping[str, Any]]
    prompt_tokens: int | None
    output_tokens: int | None
    embed_ms: float | None
    search_ms: float | None
    queue_ms: float | None
    prefill_ms: float | None
    decode_ms: float | None
    total_ms: float | None
    error_code: str | None
    error_message: str | None
    top_cosine: float | None
    idf_share: float | None
    probability: float | None
    prompt_counted: int | None
    mode: str | None
    pages: Sequence[str] | None
    cached: bool
    spans: Sequence[Mapping[str, Any]]

    def trace(self) -> Trace:
        """Return the row as a record."""
        same = (
            *("id", "asked_at", "question", "k", "embedding_model", "route", "template"),
            *("prompt", "answer", "finish", "refused", "degraded", "prompt_tokens"),
            *("output_tokens", "error_code", "error_message", "mode", "cached", *_EVIDENCE),
        )
        return Trace(
            **{name: getattr(self, name) for name in same},
            tracks=tuple(self.tracks),
            pages=tuple(self.pages or ()),
            problems=tuple(Problem(**problem) for problem in self.problems),
            hits=tuple(TracedHit(**hit) for hit in self.hits),
            citations=tuple(_citation(citation) for citation in self.citations),
            timings=Timings(**{phase: getattr(self, f"{phase}_ms") for phase in _PHASES}),
            spans=tuple(_span(span) for span in self.spans),
        )


def _span(stored: Mapping[str, Any]) -> Span:
    attributes = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored["attributes"].items()
    }
    return Span(**{**stored, "attributes": attributes})


def _citation(stored: Mapping[str, Any]) -> Citation:
    return Citation(**{**stored, "passages": tuple(stored["passages"])})
