"""The room that tables take on disk, and giving back what replaced and removed rows left.

PostgreSQL uses the room of dead rows again, but never gives it back, and the exact scan reads all
of it for every question. Only a table that is written anew is as small as its rows. ``CLUSTER``
does that in a transaction, so that it is done or was never begun; passages come to lie by track,
which makes a search in one track read its share alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from psycopg.rows import class_row

from ragctl.db.statements import statement
from ragctl.errors import DatabaseError

if TYPE_CHECKING:
    from ragctl.db.connect import Connection

TABLES = (
    *("chunks", "pages", "embedding_cache", "question_embeddings", "answer_cache"),
    *("traces", "spans", "feedback", "evaluations", "terms"),
)
"""The tables that grow with the site or with use; the others hold a few rows."""

MUCH = 1.4
"""What replacing every page twice leaves: a table this many times as large as its rows need."""

LEAST_SPARE_BYTES = 16_000_000
WORTH_IT, WORTH_BYTES = 1.1, 1_000_000
_WRITTEN_AHEAD_BYTES = 1 << 30  # PostgreSQL keeps about so much of its journal (max_wal_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRoom:
    """What one table takes, in bytes.

    ``heap_bytes`` are its rows alone, ``needed_bytes`` what those that count would need, estimated
    from their number and mean width; ``total_bytes`` has long texts and indexes too. ``rows`` and
    ``needed_bytes`` are ``None`` where the server has not counted the table yet.
    """

    name: str
    rows: int | None
    heap_bytes: int
    needed_bytes: int | None
    total_bytes: int
    is_owned: bool
    ordered_by: str

    @property
    def bloat(self) -> float:
        """How many times as large as needed it is; 1 where that is not known."""
        if self.needed_bytes is None or self.heap_bytes == 0:
            return 1.0
        return self.heap_bytes / max(8192, self.needed_bytes)

    @property
    def spare_bytes(self) -> int:
        """The least that writing it anew gives back: long texts and indexes may have grown too."""
        return max(0, self.heap_bytes - self.needed_bytes) if self.needed_bytes is not None else 0

    @property
    def is_worth_it(self) -> bool:
        """Whether writing it anew gives back enough to be done when asked for."""
        if_all_grew_alike = self.total_bytes * (1 - 1 / max(1.0, self.bloat))
        return self.bloat > WORTH_IT and if_all_grew_alike >= WORTH_BYTES

    @property
    def is_much(self) -> bool:
        """Whether it has grown so much that somebody should know."""
        return self.bloat > MUCH and self.spare_bytes >= LEAST_SPARE_BYTES

    @property
    def passing_bytes(self) -> int:
        """The free disk that writing it anew may take until it is done.

        That is its copy, the rows while they are sorted, and the journal.
        """
        return self.total_bytes + self.heap_bytes + min(self.total_bytes, _WRITTEN_AHEAD_BYTES)


class Room:
    """Looks at the room of tables and gives it back; runs outside of transactions."""

    def __init__(self, connection: Connection, *, wait_seconds: float = 10) -> None:
        self._connection = connection
        self._wait_seconds = wait_seconds

    def tables(self) -> tuple[TableRoom, ...]:
        """Return the tables by name, by what the server last counted."""
        with self._connection.cursor(row_factory=class_row(TableRoom)) as cursor:
            cursor.execute(statement("room/tables"), {"tables": list(TABLES)})
            return tuple(cursor.fetchall())

    def count(self, *names: str) -> None:
        """Have the server count the rows of tables and their widths; the role must own them."""
        for name in names:
            self._connection.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(name)))

    def rewrite(self, table: TableRoom) -> None:
        """Write a table anew, in its order; call it inside a transaction.

        Who reads the table waits meanwhile. Raises :class:`~ragctl.errors.DatabaseError` where
        somebody has used it for too long already.
        """
        name, order = sql.Identifier(table.name), sql.Identifier(table.ordered_by)
        wait = {"milliseconds": round(self._wait_seconds * 1000)}
        try:
            self._connection.execute(statement("room/limits"), wait)
            self._connection.execute(sql.SQL("CLUSTER {} USING {}").format(name, order))
            # the order is of this moment: a dump need not carry it
            forget = sql.SQL("ALTER TABLE {} SET WITHOUT CLUSTER").format(name)
            self._connection.execute(forget)
        except psycopg.errors.LockNotAvailable as error:
            raise DatabaseError(
                f"others have used the table {table.name} for {self._wait_seconds:.0f} s without "
                "a pause",
                hint="Try again when they are done; `SELECT * FROM pg_stat_activity` shows them.",
            ) from error

    def tidy(self, table: TableRoom) -> None:
        """Have the server look through a table that was written anew: all its rows are visible."""
        name = sql.Identifier(table.name)
        self._connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(name))
