"""The table ``breakers``: how the routes to an answer fare, for every process at once.

All times are the database's; nothing is held open across a call of a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg.rows import class_row

from ragctl.db.connect import Connection, translated
from ragctl.db.statements import statement
from ragctl.db.values import storable
from ragctl.records.gateway import BreakerState, Permit

FAILURES_TO_OPEN = 3
OPEN_SECONDS = 30.0
LONGEST_ERROR = 500


class StoredBreakers:
    """A :class:`~ragctl.protocols.Breakers` that every process of a database shares.

    Waits neither for the disk nor long for other sessions. Raises
    :class:`~ragctl.errors.DatabaseError` where the role may not write or the database fails.
    """

    def __init__(
        self,
        connection: Connection,
        url: str,
        *,
        failures_to_open: int = FAILURES_TO_OPEN,
        open_seconds: float = OPEN_SECONDS,
    ) -> None:
        self._connection = connection
        self._url = url
        self._failures_to_open = failures_to_open
        self._open_seconds = open_seconds

    def permit(self, route: str, *, probe_seconds: float) -> Permit:
        """Return whether a route may be asked now."""
        values = {
            "route": storable(route),
            "open_seconds": self._open_seconds,
            "probe_seconds": probe_seconds,
        }
        with self._writing(), self._connection.cursor(row_factory=class_row(Permit)) as cursor:
            found = cursor.execute(statement("breakers/permit"), values).fetchone()
        assert found is not None
        return found

    def succeeded(self, route: str) -> None:
        """Close the breaker of a route."""
        with self._writing():
            self._connection.execute(statement("breakers/succeed"), {"route": storable(route)})

    def failed(self, route: str, *, is_probe: bool, error: str) -> None:
        """Count a failure of a route."""
        values = {
            "route": storable(route),
            "is_probe": is_probe,
            "threshold": self._failures_to_open,
            "error": storable(error)[:LONGEST_ERROR],
        }
        with self._writing():
            self._connection.execute(statement("breakers/fail"), values)

    def released(self, route: str) -> None:
        """Give a probe back."""
        with self._writing():
            self._connection.execute(statement("breakers/release"), {"route": storable(route)})

    def reset(self, routes: Sequence[str]) -> list[str]:
        """Forget the failures of routes; return those that had any."""
        values = {"routes": [storable(route) for route in routes]}
        with self._writing():
            rows: list[tuple[Any, ...]] = self._connection.execute(
                statement("breakers/reset"), values
            ).fetchall()
        return [str(row[0]) for row in rows]

    def all(self) -> dict[str, BreakerState]:
        """Return the state of every route that has failed once, by route."""
        with (
            translated(self._url),
            self._connection.cursor(row_factory=class_row(BreakerState)) as cursor,
        ):
            rows = cursor.execute(
                statement("breakers/list"), {"open_seconds": self._open_seconds}
            ).fetchall()
        return {row.route: row for row in rows}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One short transaction with the limits of what may be lost with the server."""
        with translated(self._url), self._connection.transaction():
            self._connection.execute(statement("traces/limits"))
            yield
