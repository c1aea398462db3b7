"""What is kept of a question that was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from ragctl.records.answers import Citation, Problem, Timings

SpanValue: TypeAlias = str | bool | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question as it was put: when, of which tracks and pages, how it was to be answered.

    ``mode`` is what was to find passages.
    """

    question: str
    at: datetime
    tracks: tuple[str, ...]
    k: int
    mode: str
    embedding_model: str
    template: str
    pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A step on the way to an answer, inside of another: a trace's spans are a tree, as a list.

    ``parent`` is the place of the step it is part of, counted from 0, and ``None`` for the root;
    milliseconds count from the beginning of the root. ``attributes`` never hold a text of the user
    or of a model; ``error``, the sentence of what went wrong, goes where texts are not kept.
    """

    name: str
    start_ms: float
    duration_ms: float
    attributes: Mapping[str, SpanValue]
    parent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFilter:
    """Which traces are looked for.

    ``prefix`` is what their ids begin with, ``since`` the first moment. Of the four kinds, traces
    of any that is asked for are meant, all where none is: ``slow_ms`` those that took longer,
    ``flagged`` those with a problem, ``refused``, and ``failed`` those without a whole answer.
    """

    prefix: str | None = None
    since: datetime | None = None
    slow_ms: float | None = None
    flagged: bool = False
    refused: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedHit:
    """A passage as it was found for a question, and how far it came.

    ``named`` is that of :class:`Hit`, false in traces that were kept before it was.
    """

    rank: int
    chunk_id: int
    ref: str
    section: str | None
    score: float
    vector_score: float | None
    keyword_score: float | None
    in_prompt: bool
    cited: bool
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What became of one question.

    ``question``, ``prompt`` and ``answer`` are ``None`` where texts are not kept, the last two also
    where it did not come to them. ``top_cosine``, ``idf_share`` and ``probability`` are those of
    :class:`Evidence`; ``prompt_counted`` is ``Prompt.tokens``. ``error_code`` and ``error_message``
    say why there is no answer; ``finish`` is then ``failed``. ``mode`` is what found passages,
    ``None`` where the list of pages had the answer, and in traces that were kept before there was a
    choice.
    """

    id: str
    asked_at: datetime
    question: str | None
    tracks: tuple[str, ...]
    k: int
    embedding_model: str
    route: str
    template: str
    prompt: str | None
    answer: str | None
    finish: str
    refused: bool
    degraded: bool
    problems: tuple[Problem, ...]
    hits: tuple[TracedHit, ...]
    citations: tuple[Citation, ...]
    prompt_tokens: int | None
    output_tokens: int | None
    timings: Timings
    spans: tuple[Span, ...]
    top_cosine: float | None = None
    idf_share: float | None = None
    probability: float | None = None
    prompt_counted: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    mode: str | None = None
    pages: tuple[str, ...] = ()
    cached: bool = False
