"""The tables ``answer_cache`` and ``cache_counters``: answers that may be given again.

Whether one still may is looked at when it is read: its passages are there, and for what any change
may alter, the content is the same. All times are the database's; nothing is held open across a call
of a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from psycopg.rows import class_row

from ragctl.db.connect import Connection, translated
from ragctl.db.statements import statement
from ragctl.db.values import storable, to_database, to_storable_json
from ragctl.records.cached import CacheCounter, CacheStatus, ContentState, KeptAnswer, NewAnswer

if TYPE_CHECKING:
    from ragctl.records.vectors import Vector

_SECONDS_A_DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBounds:
    """How long answers are kept, in days, and how many of them."""

    days: float
    at_most: int


class StoredAnswers:
    """A :class:`~ragctl.protocols.AnswerCache` that every process of a database shares.

    Waits neither for the disk nor long for other sessions. Raises
    :class:`~ragctl.errors.DatabaseError` where the role may not do it or the database fails.
    """

    def __init__(self, connection: Connection, url: str, *, bounds: CacheBounds) -> None:
        self._connection = connection
        self._url = url
        self._bounds = bounds

    def content(self) -> ContentState:
        """Return which content there is now."""
        with (
            translated(self._url),
            self._connection.cursor(row_factory=class_row(ContentState)) as cursor,
        ):
            found = cursor.execute(statement("answer_cache/content")).fetchone()
        assert found is not None
        return found

    def find(self, *, scope: str, question_key: str) -> KeptAnswer | None:
        """Return the answer kept for a question, ``None`` where none may be given."""
        values = {"scope": scope, "question_key": question_key, "seconds": self._seconds}
        rows = self._kept("answer_cache/find", values)
        return rows[0] if rows else None

    def nearest(
        self, *, scope: str, vector: Vector, at_least: float, at_most: int
    ) -> Sequence[KeptAnswer]:
        """Return kept answers whose questions come nearest to a vector, nearest first."""
        values = {
            "scope": scope,
            "embedding": to_database(vector),
            "at_least": at_least,
            "at_most": at_most,
            "seconds": self._seconds,
        }
        return self._kept("answer_cache/nearest", values)

    def served(self, kept: KeptAnswer, *, counter: str) -> None:
        """Note that a kept answer was given, under the name of a counter."""
        values = {"scope": kept.scope, "question_key": kept.question_key}
        with writing(self._connection, self._url):
            self._connection.execute(statement("answer_cache/touch"), values)
        self.count(counter)

    def count(self, counter: str) -> None:
        """Count something once under a name."""
        with writing(self._connection, self._url):
            self._connection.execute(
                statement("cache_counters/add"), {"name": counter, "counted": 1}
            )

    def keep(self, new: NewAnswer) -> None:
        """Keep an answer in the place of an earlier one; what may not be given again goes."""
        bounds = {"seconds": self._seconds, "at_most": self._bounds.at_most}
        values = {
            "scope": new.scope,
            "question_key": new.question_key,
            "question": storable(new.question),
            "answer": to_storable_json(dict(new.document)),
            "chunk_ids": list(new.chunk_ids),
            "on_any_change": new.on_any_change,
            "last_chunk_id": new.content.last_chunk_id,
            "passages": new.content.passages,
            "embedding": to_database(new.vector) if new.vector else None,
            "trace_id": new.trace_id,
        }
        with writing(self._connection, self._url):
            self._connection.execute(statement("answer_cache/prune"), bounds)
        with writing(self._connection, self._url):
            self._connection.execute(statement("answer_cache/upsert"), values)

    def clear(self) -> int:
        """Drop all answers and return how many there were."""
        with writing(self._connection, self._url):
            return self._connection.execute(statement("answer_cache/clear")).rowcount

    def count_before(self, moment: datetime) -> int:
        """Return how many answers were written before a moment."""
        with translated(self._url):
            found = self._connection.execute(
                statement("answer_cache/count_before"), {"moment": moment}
            ).fetchone()
        assert found is not None
        return int(found[0])

    def remove_before(self, moment: datetime) -> int:
        """Drop the answers that were written before a moment and return how many there were."""
        with writing(self._connection, self._url):
            return self._connection.execute(
                statement("answer_cache/remove_before"), {"moment": moment}
            ).rowcount

    def status(self) -> CacheStatus:
        """Return how many answers are kept, how many may be given, how often they were."""
        return status_of(
            self._connection, self._url, "answer_cache/status", {"seconds": self._seconds}
        )

    def counters(self) -> list[CacheCounter]:
        """Return what happened to the caches, by name."""
        with (
            translated(self._url),
            self._connection.cursor(row_factory=class_row(CacheCounter)) as cursor,
        ):
            return cursor.execute(statement("cache_counters/list")).fetchall()

    @property
    def _seconds(self) -> float:
        return self._bounds.days * _SECONDS_A_DAY

    def _kept(self, name: str, values: Mapping[str, object]) -> list[KeptAnswer]:
        with (
            translated(self._url),
            self._connection.cursor(row_factory=class_row(KeptAnswer)) as cursor,
        ):
            return cursor.execute(statement(name), values).fetchall()


@contextmanager
def writing(connection: Connection, url: str) -> Iterator[None]:
    """One short transaction with the limits of what may be lost with the server."""
    with translated(url), connection.transaction():
        connection.execute(statement("traces/limits"))
        yield


def status_of(
    connection: Connection, url: str, name: str, values: Mapping[str, object]
) -> CacheStatus:
    """Return the one row that a statement tells of a cache."""
    with translated(url), connection.cursor(row_factory=class_row(CacheStatus)) as cursor:
        found = cursor.execute(statement(name), values).fetchone()
    assert found is not None
    return found
