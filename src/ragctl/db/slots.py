"""The tables ``generation_queue`` and ``generation_slots``: who may have a model write, and when.

A question draws a ticket, and may go once fewer rows with lower tickets count than may work at
once: first come, first served, whatever the order in which processes look. A row counts until it
expires by the database's clock, so a lost process frees its place; one of this machine that is
gone is cleared away by whoever waits. Nothing is held open between two looks.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.rows import class_row

from ragctl.db.connect import Connection, translated
from ragctl.db.lease import is_gone
from ragctl.db.limits import limiting
from ragctl.db.statements import statement
from ragctl.records.gateway import Place

WAIT_SECONDS = 15.0
"""A place in line that nobody has looked from for so long is lost."""

_GRANTS = (
    "GRANT SELECT, INSERT, UPDATE, DELETE ON generation_slots TO the role; "
    "GRANT SELECT, UPDATE ON generation_queue TO the role"
)


class StoredSlots:
    """A :class:`~ragctl.protocols.Slots` that every process of a database shares.

    ``at_once`` is how many may work. Raises :class:`~ragctl.errors.DatabaseUnsuitable` where the
    role may not write.
    """

    def __init__(self, connection: Connection, url: str, *, at_once: int) -> None:
        self._connection = connection
        self._url = url
        self._at_once = at_once
        self._host = socket.gethostname()
        self._owner = ""

    def queue(self) -> None:
        """Stand in line, behind all who do."""
        self._owner = secrets.token_hex(16)
        with self._limiting():
            self._connection.execute(
                statement("generation_slots/queue"),
                {
                    "owner": self._owner,
                    "host": self._host,
                    "pid": os.getpid(),
                    "wait_seconds": WAIT_SECONDS,
                },
            )

    def take(self, *, work_seconds: float) -> Place:
        """Take a slot where it is our turn, else keep the place; a place that was lost is last."""
        place = self._look(work_seconds)
        if place is None:  # this process stood still for too long
            self.queue()
            place = self._look(work_seconds) or Place(is_taken=False)
        if not place.is_taken:
            self._clear_away_the_dead()
        return place

    def release(self) -> None:
        """Give the slot back, or leave the line."""
        with self._limiting():
            self._connection.execute(statement("generation_slots/release"), {"owner": self._owner})

    def _look(self, work_seconds: float) -> Place | None:
        values = {
            "owner": self._owner,
            "at_once": self._at_once,
            "work_seconds": work_seconds,
            "wait_seconds": WAIT_SECONDS,
        }
        with (
            self._limiting(),
            self._connection.cursor(row_factory=class_row(Place)) as cursor,
        ):
            return cursor.execute(statement("generation_slots/take"), values).fetchone()

    def _clear_away_the_dead(self) -> None:
        with self._limiting():
            rows = self._connection.execute(
                statement("generation_slots/of_host"), {"host": self._host}
            ).fetchall()
            gone = [owner for owner, pid in rows if is_gone(pid)]
            if gone:
                self._connection.execute(statement("generation_slots/remove"), {"owners": gone})

    @contextmanager
    def _limiting(self) -> Iterator[None]:
        with limiting(self._connection, self._url, setting="limits.generations", grants=_GRANTS):
            yield


def is_busy(connection: Connection, url: str) -> bool:
    """Tell whether a model writes an answer or a question waits for that."""
    with translated(url):
        row = connection.execute(statement("generation_slots/is_busy")).fetchone()
    return bool(row and row[0])
