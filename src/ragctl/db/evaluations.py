"""The table ``evaluations``: what was measured, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import dict_row

from ragctl.db.address import redacted
from ragctl.db.connect import Connection, translated
from ragctl.db.statements import statement
from ragctl.db.values import storable, to_json
from ragctl.errors import DatabaseReadOnly
from ragctl.records.evaluations import Evaluation, PastEvaluation

Outcome = Mapping[str, str | int | float | bool | None]
"""What came of one question: ``id``, and what the kind of run has to say of it."""


class Evaluations:
    """Writes and lists runs."""

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url

    def record(self, runs: Sequence[tuple[Evaluation, Sequence[Outcome]]]) -> None:
        """Store runs, each with what came of its questions: all of them or none.

        Raises :class:`~ragctl.errors.DatabaseUnsuitable` where the role or the server does not
        let us write, other :class:`~ragctl.errors.DatabaseError` where it fails.
        """
        with translated(self._url):
            try:
                with self._connection.transaction():
                    for run, outcomes in runs:
                        values = _values(run, outcomes)
                        self._connection.execute(statement("evaluations/insert"), values)
            except psycopg.errors.ReadOnlySqlTransaction as error:
                raise DatabaseReadOnly(
                    f"{redacted(self._url)} is read-only",
                    hint="Give --no-store, or ask a server that can be written to.",
                ) from error

    def history(
        self, *, kind: str | None, file: str | None, at_most: int
    ) -> tuple[PastEvaluation, ...]:
        """Return the newest runs of a kind and a file name, or of all, newest first."""
        values = {
            "kind": kind and storable(kind),
            "file": file and storable(file),
            "at_most": at_most,
        }
        with self._connection.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(statement("evaluations/history"), values).fetchall()
        return tuple(map(_past, rows))


def _values(run: Evaluation, outcomes: Sequence[Outcome]) -> dict[str, object]:
    values = _storable({name: getattr(run, name) for name in run.__slots__})
    return {
        **values,
        "chunker_parameters": to_json(_storable(run.chunker_parameters)),
        "figures": to_json(dict(run.figures)),
        "per_question": to_json([_storable(outcome) for outcome in outcomes]),
    }


def _storable(values: Mapping[str, object]) -> dict[str, object]:
    return {
        name: storable(value) if isinstance(value, str) else value for name, value in values.items()
    }


def _past(row: Mapping[str, Any]) -> PastEvaluation:
    """Return a row as a record; the run before it comes as one JSON, its time as text."""
    before = row["before"]
    return PastEvaluation(
        run=_evaluation(row, at=row["at"]),
        before=_evaluation(before, at=datetime.fromisoformat(before["at"])) if before else None,
    )


def _evaluation(values: Mapping[str, Any], *, at: datetime) -> Evaluation:
    told = {name: values[name] for name in Evaluation.__slots__ if name != "at"}
    return Evaluation(**told, at=at)
