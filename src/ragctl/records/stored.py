"""What is read back from the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ragctl.records.chunks import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page as it stands in the database, with what it takes to see whether it changed."""

    id: int
    url: str
    track: str
    title: str
    position: int
    source_path: str
    sha256: str
    parsed_with: str
    is_landing: bool
    is_draft: bool
    size_bytes: int
    mtime_ns: int
    words: int
    refused: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSummary:
    """A site on the embedded server; ``content_root`` is ``None`` where nothing was ingested.

    ``unread`` says why its tables could not be read, "" where they could.
    """

    name: str
    content_root: str | None
    pages: int
    passages: int
    model: str | None
    ingested_at: datetime | None
    size_bytes: int
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """What one stored page gave at each stage: bytes, characters, passages refused and stored."""

    id: int
    url: str
    track: str
    title: str
    source_path: str
    is_landing: bool
    size_bytes: int
    characters: int
    refused: int
    stored: int

    @property
    def passages(self) -> int:
        """How many passages were made of it."""
        return self.stored + self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackSummary:
    """What one track holds after an ingest, and what the ingest did to it.

    ``pages`` counts pages with text of their own, not landing pages; ``embedded`` the passages
    sent to the model in this run; ``left_out`` files that gave no page or no passages.
    """

    track: str
    pages: int = 0
    passages: int = 0
    embedded: int = 0
    stored: int = 0
    unchanged: int = 0
    removed: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """The stored text of a page, and what traces it to its source.

    ``source_lines`` and ``sha256`` are those of :class:`Page`.
    """

    id: int
    url: str
    track: str
    title: str
    source_path: str
    sha256: str
    is_landing: bool
    text: str
    source_lines: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A passage as it stands in the database; ``content_hash`` is of the text once embedded."""

    id: int
    chunk: Chunk
    content_hash: str
