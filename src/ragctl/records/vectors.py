"""Vectors, and the model and the cutting that they belong to."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Vector: TypeAlias = "array[float]"
"""A float32 vector as ``array("f")``: 4 bytes a number, and no numpy needed to hold it."""


DIMENSIONS = 768


Purpose = Literal["document", "query"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingIdentity:
    """Which model made a vector: vectors of two identities are never compared.

    ``digest`` is the model file's, empty where a server does not tell.
    """

    provider: str
    model: str
    digest: str
    dimensions: int
    document_prefix: str
    query_prefix: str

    @property
    def label(self) -> str:
        """``provider/model``, as shown to people."""
        return f"{self.provider}/{self.model}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexIdentity:
    """What an index was made with: the embedding model, and the chunker with its parameters."""

    embedding: EmbeddingIdentity
    chunker: str
    chunker_parameters: Mapping[str, int | str]
