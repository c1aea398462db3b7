"""What an ingest tells of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragctl.records.chunks import RefusedChunk
from ragctl.records.pages import LeftOut
from ragctl.records.stored import TrackSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestProgress:
    """How far an ingest is; a new one is handed out after every batch and page."""

    pages: int = 0
    pages_unchanged: int = 0
    pages_parsed: int = 0
    pages_stored: int = 0
    bytes: int = 0
    bytes_stored: int = 0
    passages_cut: int = 0
    passages_embedded: int = 0
    passages_reused: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """What one run did: pages written, passages cut and embedded, files left out."""

    pages: int
    passages: int
    embedded: int
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """What an ingest did to the part of the site it covered.

    ``seconds`` maps ``read``, ``parse``, ``chunk``, ``embed``, ``store`` and ``total`` to time
    spent in each; ``refused`` are passages without a vector.
    """

    root: str
    embedding: str
    tracks: tuple[TrackSummary, ...]
    left_out: tuple[LeftOut, ...]
    refused: tuple[RefusedChunk, ...]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]

    @property
    def has_findings(self) -> bool:
        """True where something was left out that should not have been."""
        return bool(self.refused) or any(not left.intended for left in self.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteChanges:
    """Files that no longer match what was ingested, by path."""

    edited: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many files differ."""
        return len(self.edited) + len(self.added) + len(self.removed)
