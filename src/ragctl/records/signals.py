"""What traces say over a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Whole days (UTC): from ``since`` to the one before ``until``."""

    since: date
    until: date


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalRow:
    """What can be counted of some questions: those of a day, a track, a route, or all.

    Times are medians in milliseconds, but for ``p95_ms``; ``p50_ms`` and ``p95_ms`` are those of
    questions that got an answer. ``prompt_tokens`` and ``output_tokens`` are sums. ``top_cosine``
    and ``probability`` are medians over the ``embedded`` questions of one embedding model. ``None``
    stands where nothing is known.
    """

    key: str
    questions: int
    answered: int = 0
    refused: int = 0
    extractive: int = 0
    incomplete: int = 0
    failed: int = 0
    stopped: int = 0
    flagged: int = 0
    fallbacks: int = 0
    cached: int = 0
    good: int = 0
    bad: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None
    compute_ms: float | None = None
    waiting_ms: float | None = None
    embed_ms: float | None = None
    search_ms: float | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None
    top_cosine: float | None = None
    probability: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prompt_tokens_median: float | None = None
    output_tokens_median: float | None = None
    embedded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FarQuestion:
    """A question whose best passage was far away; ``question`` is ``None`` if it was not kept."""

    day: str
    id: str
    question: str | None
    top_cosine: float
    top_ref: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BelowBound:
    """How many questions of a day had a probability of an answer, and how many a low one."""

    day: str
    questions: int
    below: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UncoveredQuestion:
    """A question that the site did not answer well, and why it counts as one.

    ``reason`` is ``refused``, ``not covered`` or ``weakly supported``; ``pages`` are those of its
    passages, best first; ``words`` pairs of a stem and the word as it was asked.
    """

    id: str
    question: str
    reason: str
    pages: tuple[str, ...]
    words: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteUsage:
    """What a route wrote: answers, those with counted tokens, and these tokens."""

    route: str
    answers: int
    counted: int
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteAttempts:
    """How often a route was tried, wrote, and was left alone for its breaker was open."""

    route: str
    attempts: int
    answered: int
    breaker_open: int
