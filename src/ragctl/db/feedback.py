"""The table ``feedback``: what readers said of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import psycopg
from psycopg.rows import class_row

from ragctl.db.address import redacted
from ragctl.db.statements import statement
from ragctl.db.values import storable
from ragctl.errors import DatabaseReadOnly, DatabaseUnsuitable
from ragctl.records.feedback import Feedback

if TYPE_CHECKING:
    from ragctl.db.connect import Connection


class FeedbackTable:
    """Keeps and lists feedback, one a question.

    Every method raises :class:`~ragctl.errors.DatabaseUnsuitable` for a role without the rights.
    """

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url

    def store(self, feedback: Feedback) -> None:
        """Keep what was said of an answer, in the place of what was said of it before."""
        values = {
            "trace_id": feedback.trace_id,
            "good": feedback.good,
            "note": storable(feedback.note),
            "at": feedback.at,
        }
        with self._allowed("GRANT SELECT, INSERT, UPDATE ON feedback"):
            self._connection.execute(statement("feedback/upsert"), values)

    def newest(self, *, at_most: int) -> list[Feedback]:
        """Return what was said of answers, newest first."""
        with (
            self._allowed("GRANT SELECT ON feedback, traces"),
            self._connection.cursor(row_factory=class_row(_Row)) as cursor,
        ):
            rows = cursor.execute(statement("feedback/list"), {"at_most": at_most}).fetchall()
        return [row.record() for row in rows]

    @contextmanager
    def _allowed(self, grant: str) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise DatabaseUnsuitable(
                f"the role of {redacted(self._url)} lacks a right on feedback",
                hint=f"Let its owner run: {grant} TO the role.",
            ) from error
        except psycopg.errors.ReadOnlySqlTransaction as error:
            raise DatabaseReadOnly(
                f"{redacted(self._url)} is read-only",
                hint="Ask a server that can be written to.",
            ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    trace_id: str
    good: bool
    note: str
    at: datetime
    question: str | None
    answer: str | None
    cited: Sequence[Sequence[str | None]]

    def record(self) -> Feedback:
        """Return the row as a record."""
        return Feedback(
            trace_id=self.trace_id,
            good=self.good,
            note=self.note,
            at=self.at,
            question=self.question,
            answer=self.answer,
            cited=tuple((str(url), section) for url, section in self.cited),
        )
