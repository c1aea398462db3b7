"""The table ``embedding_cache``: vectors by model and text, so that no text is paid for twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragctl.db.statements import statement
from ragctl.db.values import from_database, to_database

if TYPE_CHECKING:
    from ragctl.db.connect import Connection
    from ragctl.records.vectors import EmbeddingIdentity, Vector


class EmbeddingCache:
    """Remembers vectors of one embedding model."""

    def __init__(self, connection: Connection, identity: EmbeddingIdentity) -> None:
        self._connection = connection
        self._model = "|".join(
            (
                identity.provider,
                identity.model,
                identity.digest,
                identity.document_prefix,
                str(identity.dimensions),
            )
        )

    def known(self, content_hashes: Sequence[str]) -> Mapping[str, Vector]:
        """Return the vectors that are known, by the sha256 of the text."""
        values = {"embedding_model": self._model, "content_hashes": list(content_hashes)}
        with self._connection.cursor(binary=True) as cursor:
            rows = cursor.execute(statement("embedding_cache/select"), values)
            return {content_hash: from_database(vector) for content_hash, vector in rows}

    def remember(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors by the sha256 of their text; those already known stay as they are."""
        if not vectors:
            return
        values = {
            "embedding_model": self._model,
            "content_hashes": list(vectors),
            "embeddings": [to_database(vector) for vector in vectors.values()],
        }
        self._connection.execute(statement("embedding_cache/insert"), values)
