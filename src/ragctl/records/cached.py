"""Answers that are kept, and of which content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ragctl.records.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentState:
    """Which content there is: the largest id of a passage, and how many passages there are.

    Ids are never used twice, so contents with both the same are the same.
    """

    last_chunk_id: int
    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAnswer:
    """An answer on its way into the cache.

    ``scope`` stands for all but the question that decides on an answer, ``question_key`` for the
    question; ``document`` is the answer. It may be given again while the passages ``chunk_ids``
    are there, and with ``on_any_change`` only while ``content`` is what it was. ``vector`` is that
    of the question, empty where it is not known.
    """

    scope: str
    question_key: str
    question: str
    document: Mapping[str, object]
    chunk_ids: tuple[int, ...]
    on_any_change: bool
    content: ContentState
    vector: Vector
    trace_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer that may be given again; ``cosine`` is to the question asked, where it was close.

    ``trace_id`` is that of the question it was written for, empty where no trace was kept.
    """

    scope: str
    question_key: str
    question: str
    document: Mapping[str, object]
    trace_id: str
    cached_at: datetime
    age_seconds: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStatus:
    """What a cache holds: entries, how often those served, since when, and how large it is.

    ``usable`` counts the entries that may still serve, ``None`` where all may.
    """

    entries: int
    hits: int
    oldest: datetime | None
    size_bytes: int
    usable: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounter:
    """How often something happened to a cache, and since when that is counted."""

    name: str
    counted: int
    since: datetime
    updated_at: datetime
