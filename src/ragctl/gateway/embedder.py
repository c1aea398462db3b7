"""Several addresses of one embedding model behind one embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from ragctl.errors import EmbeddingRefused, ModelError, ModelMissing

if TYPE_CHECKING:
    from ragctl.protocols import Embedder
    from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector

Result = TypeVar("Result")
_MUST_AGREE: Final = ("provider", "model", "dimensions", "document_prefix", "query_prefix")


class FallbackEmbedder:
    """A :class:`~ragctl.protocols.Embedder` that goes to the next address where one fails.

    All of them must serve the same model, by name and, where servers tell it, by digest: vectors
    of another are never taken. The address that worked last is asked first. A text that a model
    refuses is refused: another address would do the same.
    """

    def __init__(self, embedders: Sequence[Embedder]) -> None:
        self._embedders = tuple(embedders)
        self._first = 0
        self._identity: EmbeddingIdentity | None = None

    @property
    def identity(self) -> EmbeddingIdentity:
        """The model, as the first address that answers tells it."""
        if self._identity is None:
            self._identity = self._tried(lambda embedder: embedder.identity)
        return self._identity

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return one vector a text; raises the error of the first address where all fail."""
        expected = self.identity

        def embedded(embedder: Embedder) -> list[Vector]:
            _require_same(expected, embedder.identity)
            return embedder.embed(texts, purpose=purpose)

        return self._tried(embedded)

    def _tried(self, call: Callable[[Embedder], Result]) -> Result:
        count, begin = len(self._embedders), self._first
        failure: ModelError | None = None
        for place in range(begin, begin + count):
            try:
                result = call(self._embedders[place % count])
            except EmbeddingRefused:
                raise
            except ModelError as error:
                failure = failure or error
                continue
            self._first = place % count
            return result
        assert failure is not None
        raise failure


def _require_same(expected: EmbeddingIdentity, found: EmbeddingIdentity) -> None:
    digests = {expected.digest, found.digest} - {""}
    if len(digests) < 2 and all(getattr(expected, n) == getattr(found, n) for n in _MUST_AGREE):
        return
    raise ModelMissing(
        f"an address serves another model than {expected.label} {expected.digest[:12]}".rstrip(),
        hint="Bring embedding.fallback_urls to the same model, for example with `ollama pull`.",
    )
