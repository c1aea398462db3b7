"""The tables ``site`` and ``index_identity``: one row each, what this database holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.rows import class_row, scalar_row

from ragctl.db.statements import statement
from ragctl.db.values import to_json
from ragctl.records.vectors import EmbeddingIdentity, IndexIdentity

if TYPE_CHECKING:
    from ragctl.db.connect import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    provider: str
    model: str
    digest: str
    dimensions: int
    document_prefix: str
    query_prefix: str
    chunker: str
    chunker_parameters: Mapping[str, int | str]


class Site:
    """The content root that the database holds."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def content_root(self) -> str | None:
        """Return the recorded content root, ``None`` before the first ingest."""
        with self._connection.cursor(row_factory=scalar_row) as cursor:
            root: str | None = cursor.execute(statement("site/select")).fetchone()
        return root

    def record(self, content_root: str) -> None:
        """Record the content root."""
        self._connection.execute(statement("site/upsert"), {"content_root": content_root})


class Identity:
    """What the index was made with."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def load(self) -> IndexIdentity | None:
        """Return the recorded identity, ``None`` before the first ingest."""
        with self._connection.cursor(row_factory=class_row(_Row)) as cursor:
            row = cursor.execute(statement("index_identity/select")).fetchone()
        if row is None:
            return None
        return IndexIdentity(
            embedding=EmbeddingIdentity(
                provider=row.provider,
                model=row.model,
                digest=row.digest,
                dimensions=row.dimensions,
                document_prefix=row.document_prefix,
                query_prefix=row.query_prefix,
            ),
            chunker=row.chunker,
            chunker_parameters=row.chunker_parameters,
        )

    def record(self, identity: IndexIdentity) -> None:
        """Record the identity of an index, new or rebuilt."""
        self._connection.execute(
            statement("index_identity/upsert"),
            {
                "provider": identity.embedding.provider,
                "model": identity.embedding.model,
                "digest": identity.embedding.digest,
                "dimensions": identity.embedding.dimensions,
                "document_prefix": identity.embedding.document_prefix,
                "query_prefix": identity.embedding.query_prefix,
                "chunker": identity.chunker,
                "chunker_parameters": to_json(dict(identity.chunker_parameters)),
            },
        )
