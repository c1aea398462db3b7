"""What the tables of limits share: short transactions, and rights that must be there.

Limits are wanted by who runs the database for others: where they cannot be kept, nothing is
answered, and the message names the rights that are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ragctl.db.address import redacted
from ragctl.db.connect import Connection, translated
from ragctl.db.failures import READ_ONLY_HINT
from ragctl.db.statements import statement
from ragctl.errors import DatabaseReadOnly, DatabaseUnsuitable


@contextmanager
def limiting(connection: Connection, url: str, *, setting: str, grants: str) -> Iterator[None]:
    """One short transaction that does not wait for the disk.

    Raises :class:`~ragctl.errors.DatabaseUnsuitable` with ``grants`` where the role or the server
    does not let us write.
    """
    try:
        with translated(url), connection.transaction():
            connection.execute(statement("generation_slots/limits"))
            yield
    except DatabaseReadOnly as error:
        raise DatabaseReadOnly(
            f"{setting} is set, and {redacted(url)}, in which it is kept, is read-only",
            hint=READ_ONLY_HINT,
        ) from error
    except DatabaseUnsuitable as error:
        raise DatabaseUnsuitable(
            f"{setting} is set, and the role of {redacted(url)} may not write what it is kept by",
            hint=f"Let the owner of the tables run: {grants}",
        ) from error
