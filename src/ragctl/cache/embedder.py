"""An embedder that asks its model for no question twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ragctl.cache.keys import hash_of
from ragctl.errors import DatabaseError

if TYPE_CHECKING:
    from ragctl.protocols import Embedder, QuestionVectors
    from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector


class QuestionMemory:
    """The vectors of questions: those of this process, and those kept by ``stored``.

    Without ``reads`` what is stored is not looked at. An error of the database goes to ``on_lost``,
    and the memory goes on with what it has.
    """

    def __init__(
        self,
        stored: QuestionVectors | None,
        *,
        reads: bool,
        on_lost: Callable[[DatabaseError], None],
    ) -> None:
        self._stored = stored
        self._reads = reads
        self._on_lost = on_lost
        self._vectors: dict[str, Vector] = {}

    def known(self, question: str) -> Vector | None:
        """Return the vector of a question, ``None`` where a model must be asked."""
        if question not in self._vectors and self._stored is not None and self._reads:
            try:
                found = self._stored.known(hash_of(question))
                if found is not None:
                    self._vectors[question] = found
                    self._stored.served(hash_of(question))
            except DatabaseError as error:
                self._lost(error)
        return self._vectors.get(question)

    def learn(self, question: str, vector: Vector) -> None:
        """Keep a vector that a model has made."""
        self._vectors[question] = vector
        if self._stored is not None:
            try:
                self._stored.remember(hash_of(question), vector)
            except DatabaseError as error:
                self._lost(error)

    def _lost(self, error: DatabaseError) -> None:
        self._stored = None
        self._on_lost(error)


class RememberingEmbedder:
    """An :class:`~ragctl.protocols.Embedder` that asks another one for what is not remembered.

    That one is made when it is first needed. Only questions are remembered.
    """

    def __init__(
        self, identity: EmbeddingIdentity, make: Callable[[], Embedder], memory: QuestionMemory
    ) -> None:
        self._identity = identity
        self._make = make
        self._memory = memory

    @property
    def identity(self) -> EmbeddingIdentity:
        """The model whose vectors these are."""
        return self._identity

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return one vector a text, in order; see :class:`~ragctl.protocols.Embedder`."""
        if purpose != "query":
            return self._make().embed(texts, purpose=purpose)
        known = {text: vector for text in texts if (vector := self._memory.known(text))}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            made = self._make().embed(missing, purpose=purpose)
            for text, vector in zip(missing, made, strict=True):
                self._memory.learn(text, vector)
                known[text] = vector
        return [known[text] for text in texts]
