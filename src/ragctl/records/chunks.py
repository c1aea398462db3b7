"""Passages as they are cut and embedded."""

from __future__ import annotations

from dataclasses import dataclass

from ragctl.records.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A passage: the unit that is embedded, found and cited.

    ``ref`` is ``<url>#c<start_char>`` and can be inverted to the place in ``Page.text``.
    ``section`` is the label of the heading in force, or ``None`` before the first heading.
    ``breadcrumb`` is the path of headings, joined with `` > ``, that goes into what is embedded
    and not into ``body``.
    """

    url: str
    track: str
    position: int
    ref: str
    section: str | None
    anchor: str | None
    breadcrumb: str
    start_char: int
    end_char: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedChunk:
    """A passage with its vector; ``content_hash`` is the sha256 of the text that was embedded."""

    chunk: Chunk
    vector: Vector
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedChunk:
    """A passage that the embedding model would not take, and why; ``path`` is its source file."""

    chunk: Chunk
    reason: str
    message: str
    path: str = ""
