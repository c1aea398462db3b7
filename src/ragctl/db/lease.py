"""The table ``ingest_lease``: one ingest at a time, also behind a pooler and across machines.

A lease is a row with an owner's token and an end by the database's clock. A thread with a
connection of its own puts the end off while its owner works, so that a slow model loses nothing;
an owner that died is followed at once on its own machine and after the end elsewhere. Every
transaction of an ingest holds the row: a run that lost its lease cannot write.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from ragctl.db.connect import Connection, connect
from ragctl.db.statements import statement
from ragctl.errors import DatabaseBusy

LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 5.0
WAIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseHolder:
    """Who is ingesting: the token, the machine and process, and since when."""

    owner: str
    host: str
    pid: int
    taken_at: datetime
    expired: bool

    def is_dead(self) -> bool:
        """Tell whether the process ended; ``False`` where that cannot be known from here."""
        return self.host == socket.gethostname() and is_gone(self.pid)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.taken_at:%H:%M:%S}"


def is_gone(pid: int) -> bool:
    """Tell whether a process of this machine ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


class IngestLease:
    """A lease on the right to ingest into one database."""

    def __init__(self, connection: Connection, url: str) -> None:
        self._connection = connection
        self._url = url
        self._owner = secrets.token_hex(16)

    @contextmanager
    def held(self, *, wait: bool, on_wait: Callable[[LeaseHolder], None]) -> Iterator[None]:
        """Hold the lease for the block.

        Where another run holds it, raises :class:`~ragctl.errors.DatabaseBusy`, or with ``wait``
        tells ``on_wait`` once and tries again every second until it is free.
        """
        told = False
        while (holder := self._take()) is not None:
            if not wait:
                raise DatabaseBusy(
                    f"another ingest is at work, or a compaction: {holder}",
                    hint="Wait until it has ended; `ragctl ingest --wait` does so by itself.",
                )
            if not told:
                on_wait(holder)
                told = True
            time.sleep(WAIT_SECONDS)
        stop = threading.Event()
        beat = threading.Thread(target=self._beat, args=(stop,), name="lease", daemon=True)
        beat.start()
        try:
            yield
        finally:
            stop.set()
            with suppress(Exception):  # the connection may be what broke; the lease runs out
                self._connection.execute(statement("ingest_lease/release"), self._values())

    def require(self) -> None:
        """Hold the lease's row until the transaction ends.

        Raises :class:`~ragctl.errors.DatabaseBusy` where another run has taken it over.
        """
        if self._connection.execute(statement("ingest_lease/require"), self._values()).rowcount < 1:
            raise DatabaseBusy(
                "another ingest has taken over",
                hint="Let it finish; whole pages that were stored are kept.",
            )

    def _take(self) -> LeaseHolder | None:
        """Take the lease, or return who has it."""
        while True:
            with self._connection.cursor(row_factory=class_row(LeaseHolder)) as cursor:
                holder = cursor.execute(statement("ingest_lease/holder")).fetchone()
            dead = holder.owner if holder is not None and holder.is_dead() else ""
            if holder is not None and not holder.expired and not dead:
                return holder  # taking would wait for the end of its transaction
            taken = self._connection.execute(
                statement("ingest_lease/take"),
                {
                    **self._values(),
                    "host": socket.gethostname(),
                    "pid": os.getpid(),
                    "dead_owner": dead,
                },
            )
            if taken.rowcount == 1:
                return None

    def _beat(self, stop: threading.Event) -> None:
        while not stop.wait(HEARTBEAT_SECONDS):
            with suppress(Exception), connect(self._url) as connection:
                while not stop.wait(HEARTBEAT_SECONDS):
                    connection.execute(statement("ingest_lease/renew"), self._values())

    def _values(self) -> dict[str, object]:
        return {"owner": self._owner, "seconds": LEASE_SECONDS}
