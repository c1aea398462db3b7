"""The table ``question_embeddings``: vectors of questions, so that one is embedded once.

Questions are known by the hash of their text alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl.db.answer_cache import CacheBounds, status_of, writing
from ragctl.db.connect import Connection, translated
from ragctl.db.statements import statement
from ragctl.db.values import from_database, to_database

if TYPE_CHECKING:
    from ragctl.records.cached import CacheStatus
    from ragctl.records.vectors import EmbeddingIdentity, Vector


class QuestionEmbeddings:
    """A :class:`~ragctl.protocols.QuestionVectors` that every process of a database shares.

    Waits neither for the disk nor long for other sessions. Raises
    :class:`~ragctl.errors.DatabaseError` where the role may not do it or the database fails.
    """

    def __init__(
        self,
        connection: Connection,
        url: str,
        *,
        identity: EmbeddingIdentity,
        bounds: CacheBounds,
    ) -> None:
        self._connection = connection
        self._url = url
        self._bounds = {"days": int(bounds.days), "at_most": bounds.at_most}
        self._model = "|".join(
            (
                identity.provider,
                identity.model,
                identity.digest,
                identity.query_prefix,
                str(identity.dimensions),
            )
        )

    def known(self, question_hash: str) -> Vector | None:
        """Return the vector of a question, by the sha256 of its text."""
        values = {**self._key(question_hash), "days": self._bounds["days"]}
        with translated(self._url), self._connection.cursor(binary=True) as cursor:
            row = cursor.execute(statement("question_embeddings/select"), values).fetchone()
        return from_database(row[0]) if row else None

    def served(self, question_hash: str) -> None:
        """Note that a vector saved a call of the model."""
        with writing(self._connection, self._url):
            key = self._key(question_hash)
            self._connection.execute(statement("question_embeddings/touch"), key)

    def remember(self, question_hash: str, vector: Vector) -> None:
        """Keep the vector of a question; the least lately used beyond the bounds go."""
        values = {**self._key(question_hash), "embedding": to_database(vector)}
        with writing(self._connection, self._url):
            self._connection.execute(statement("question_embeddings/insert"), values)
        with writing(self._connection, self._url):
            self._connection.execute(statement("question_embeddings/prune"), self._bounds)

    def clear(self) -> int:
        """Drop all vectors of questions, of every model, and return how many there were."""
        with writing(self._connection, self._url):
            return self._connection.execute(statement("question_embeddings/clear")).rowcount

    def status(self) -> CacheStatus:
        """Return how many vectors are kept, of every model, and how often they served."""
        return status_of(self._connection, self._url, "question_embeddings/status", {})

    def _key(self, question_hash: str) -> dict[str, object]:
        return {"embedding_model": self._model, "question_hash": question_hash}
