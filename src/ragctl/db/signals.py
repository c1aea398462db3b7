"""What is counted of the questions that were asked: by day, by group, and what stands out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.rows import class_row, scalar_row

from ragctl.db.address import redacted
from ragctl.db.statements import statement
from ragctl.db.values import storable, to_json
from ragctl.errors import DatabaseUnsuitable
from ragctl.records.signals import (
    BelowBound,
    FarQuestion,
    Period,
    RouteAttempts,
    RouteUsage,
    SignalRow,
    UncoveredQuestion,
)

if TYPE_CHECKING:
    from ragctl.db.connect import Connection

_Record = TypeVar("_Record")


class SignalTables:
    """Reads the views ``question_signals`` and ``daily_signals`` and what lies below them.

    Every method raises :class:`~ragctl.errors.DatabaseUnsuitable` for a role that may not read
    what was asked.
    """

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url

    def embedding_model(self) -> str:
        """Return the embedding model of the newest question, empty without one."""
        with self._readable(), self._connection.cursor(row_factory=scalar_row) as cursor:
            found: str | None = cursor.execute(statement("signals/model")).fetchone()
        return found or ""

    def days(self, period: Period, *, embedding_model: str) -> list[SignalRow]:
        """Return a row a day with questions, oldest first; its key is the day."""
        values = {**_values(period), "embedding_model": embedding_model}
        return self._rows(SignalRow, "signals/days", values)

    def groups(
        self, period: Period, *, by: str, embedding_model: str, models: Mapping[str, str]
    ) -> list[SignalRow]:
        """Return a row a track, route or model that wrote; or with another ``by`` one for all.

        ``models`` are the models that routes stand for, by the routes' names.
        """
        own = {"by": by, "embedding_model": embedding_model, "models": to_json(dict(models))}
        return self._rows(SignalRow, "signals/groups", {**_values(period), **own})

    def farthest(
        self, days: Collection[str], *, embedding_model: str, at_most: int
    ) -> list[FarQuestion]:
        """Return the questions of some days with the lowest top cosines, at most so many a day."""
        own = {"days": list(days), "embedding_model": embedding_model, "at_most": at_most}
        return self._rows(FarQuestion, "signals/lowest", own)

    def below(self, period: Period, *, embedding_model: str, bound: float) -> list[BelowBound]:
        """Return by day how many questions had a probability of an answer below a bound."""
        own = {"embedding_model": embedding_model, "bound": bound}
        return self._rows(BelowBound, "signals/below", {**_values(period), **own})

    def uncovered(
        self,
        period: Period,
        *,
        embedding_model: str,
        not_covered: float | None,
        weak: float | None,
        at_most: int,
    ) -> list[UncoveredQuestion]:
        """Return the newest questions that the site did not answer well, newest first."""
        own = {
            "embedding_model": embedding_model,
            "not_covered": not_covered,
            "weak": weak,
            "at_most": at_most,
        }
        rows = self._rows(_Uncovered, "signals/uncovered", {**_values(period), **own})
        return [row.record() for row in rows]

    def without_text(self, period: Period) -> int:
        """Return how many questions were kept without their text."""
        with self._readable(), self._connection.cursor(row_factory=scalar_row) as cursor:
            found = cursor.execute(statement("signals/textless"), _values(period)).fetchone()
        return int(found or 0)

    def weights(self, stems: Collection[str]) -> dict[str, float]:
        """Return the idf of stems over the passages of the site."""
        values = {"terms": [storable(stem) for stem in stems]}
        with self._readable():
            rows = self._connection.execute(statement("signals/weights"), values).fetchall()
        return {str(term): float(idf) for term, idf in rows}

    def usage(self, period: Period) -> list[RouteUsage]:
        """Return what each route wrote, most answers first."""
        return self._rows(RouteUsage, "signals/usage", _values(period))

    def attempts(self, period: Period) -> list[RouteAttempts]:
        """Return how often each route was tried, by name."""
        return self._rows(RouteAttempts, "signals/attempts", _values(period))

    def _rows(self, kind: type[_Record], name: str, values: Mapping[str, object]) -> list[_Record]:
        with self._readable(), self._connection.cursor(row_factory=class_row(kind)) as cursor:
            return cursor.execute(statement(name), values).fetchall()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseUnsuitable(
                f"the role of {redacted(self._url)} may not read what was asked",
                hint="Signals are counted from traces: GRANT SELECT ON traces, spans, feedback, "
                "question_signals, daily_signals to the role, or use the role that ingests.",
            ) from error


def _values(period: Period) -> dict[str, object]:
    return {"since": period.since, "until": period.until}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Uncovered:
    id: str
    question: str
    reason: str
    pages: Sequence[str]
    words: Sequence[Sequence[Any]]

    def record(self) -> UncoveredQuestion:
        """Return the row as a record."""
        return UncoveredQuestion(
            id=self.id,
            question=self.question,
            reason=self.reason,
            pages=tuple(dict.fromkeys(self.pages)),
            words=tuple((str(stem), str(word)) for stem, word in self.words),
        )
