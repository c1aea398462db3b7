"""What the role of a connection may do with ragctl's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from psycopg.rows import class_row

from ragctl.db.address import redacted
from ragctl.db.connect import translated
from ragctl.db.failures import READ_ONLY_HINT
from ragctl.db.statements import statement
from ragctl.errors import DatabaseReadOnly, DatabaseUnsuitable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragctl.db.connect import Connection

WRITTEN: Final = (
    *("chunks", "embedding_cache", "index_identity", "ingest_lease", "ingest_runs", "pages"),
    *("site", "terms", "terms_counted"),
)
"""The tables that an ingest writes to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What a role may do; ``missing`` are the rights that an ingest needs and it does not have."""

    role: str
    may_read: bool
    is_read_only: bool
    missing: Sequence[str]

    @property
    def may_ingest(self) -> bool:
        """Whether the role may bring new content in."""
        return not self.is_read_only and not self.missing

    @property
    def grants(self) -> str:
        """The statements that let the role ingest."""
        return (
            f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{self.role}"; '
            f"GRANT INSERT, UPDATE, DELETE ON {', '.join(WRITTEN)} TO "
            f'"{self.role}"; GRANT USAGE ON SEQUENCE chunks_id_seq TO "{self.role}"'
        )


def rights(connection: Connection) -> Rights:
    """Return what the role may do; the tables must exist."""
    with connection.cursor(row_factory=class_row(Rights)) as cursor:
        found = cursor.execute(statement("schema/rights"), {"written": list(WRITTEN)}).fetchone()
    assert found is not None
    return found


def require_ingesting(connection: Connection, url: str) -> None:
    """Raise before anything is read or embedded where the role may not store what comes of it.

    :class:`~ragctl.errors.DatabaseReadOnly` for a standby and the like, else
    :class:`~ragctl.errors.DatabaseUnsuitable` with the rights that are missing.
    """
    with translated(url):
        found = rights(connection)
    if found.is_read_only:
        raise DatabaseReadOnly(f"{redacted(url)} is read-only", hint=READ_ONLY_HINT)
    if found.missing:
        listed = ", ".join(found.missing[:3]) + (" ..." if len(found.missing) > 3 else "")
        raise DatabaseUnsuitable(
            f"role {found.role} of {redacted(url)} lacks rights to ingest: {listed}",
            hint=f"Let the owner of the tables run: {found.grants}",
        )
