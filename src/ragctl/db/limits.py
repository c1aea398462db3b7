"""What the tables of limits share: short transactions, and rights that must be there.

Limits are wanted by who runs the database for others: where they cannot be kept, nothing is
answered, and the message names the rights that are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from ragctl.db.connect import Connection, redacted, translated
from ragctl.db.statements import statement
from ragctl.errors import DatabaseUnsuitable


@contextmanager
def limiting(connection: Connection, url: str, *, setting: str, grants: str) -> Iterator[None]:
    """One short transaction that does not wait for the disk.

    Raises :class:`~ragctl.errors.DatabaseUnsuitable` with ``grants`` where the role or the server
    does not let us write.
    """
    try:
        with translated(url), _told_where_read_only(), connection.transaction():
            connection.execute(statement("generation_slots/limits"))
            yield
    except DatabaseUnsuitable as error:
        raise DatabaseUnsuitable(
            f"{setting} is set, and the role of {redacted(url)} may not write what it is kept by",
            hint=f"Let the owner of the tables run: {grants}",
        ) from error


@contextmanager
def _told_where_read_only() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise DatabaseUnsuitable("the server is read-only") from error
