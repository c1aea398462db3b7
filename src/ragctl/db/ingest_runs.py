"""The table ``ingest_runs``: when an ingest ran and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from psycopg.rows import class_row, scalar_row

from ragctl.db.statements import statement
from ragctl.db.values import to_json

if TYPE_CHECKING:
    from ragctl.db.connect import Connection
    from ragctl.records.ingest import RunCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRun:
    """The newest ingest; ``outcome`` is ``running``, ``done``, ``findings`` or ``stopped``."""

    started_at: datetime
    finished_at: datetime | None
    outcome: str


class IngestRuns:
    """Opens and closes the record of an ingest."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def start(self) -> int:
        """Open a record and return its id."""
        with self._connection.cursor(row_factory=scalar_row) as cursor:
            run_id = cursor.execute(statement("ingest_runs/insert")).fetchone()
        assert isinstance(run_id, int)
        return run_id

    def finish(self, run_id: int, *, outcome: str, counts: RunCounts) -> None:
        """Close a record with what was done."""
        self._connection.execute(
            statement("ingest_runs/finish"),
            {
                "id": run_id,
                "outcome": outcome,
                "pages": counts.pages,
                "passages": counts.passages,
                "embedded": counts.embedded,
                "left_out": to_json([[left.path, left.reason] for left in counts.left_out]),
            },
        )

    def last(self) -> IngestRun | None:
        """Return the newest ingest, ``None`` before the first."""
        with self._connection.cursor(row_factory=class_row(IngestRun)) as cursor:
            return cursor.execute(statement("ingest_runs/last")).fetchone()
