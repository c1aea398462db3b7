"""From the prompt to the checked answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ragctl.records.evidence import Evidence
from ragctl.records.search import Hit

Finish = Literal["stop", "length", "repetition", "torn"]


Support = Literal["", "supported", "weak", "unsupported", "misattributed"]


Verdict = Literal["supported", "weak", "unsupported", "misattributed", "uncited"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The exact string sent to a model, and the passages numbered in it.

    ``tokens`` are by our own count; ``crowded_out`` counts passages that would have been sent had
    there been room.
    """

    text: str
    question: str
    template: str
    passages: tuple[Hit, ...]
    tokens: int = 0
    crowded_out: int = 0
    evidence: Evidence | None = None
    about_site: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a generator wrote, before any check.

    ``finish`` says how it ended; a ``torn`` draft has its reason in ``error``; ``declined`` says
    that the generator itself knows it for a refusal. Counts and durations are ``None`` where the
    server did not report them. ``attempts`` are the routes that were tried for it, empty where
    there was but one, ``problems`` what came of them, and ``cost_usd`` is ``None`` where no price
    is known. ``queue_ms`` is the wait for a free slot, ``None`` where none was needed.
    """

    text: str
    route: str
    finish: Finish
    error: str = ""
    written_by_model: bool = True
    declined: bool = False
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None
    queue_ms: float | None = None
    attempts: tuple[Attempt, ...] = ()
    problems: tuple[Problem, ...] = ()
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source of an answer: one page and section, numbered as printed.

    ``passages`` are the numbers of the passages it stands for; ``link`` is an address, or the
    path below the site where the site's address is not set.
    """

    n: int
    title: str
    url: str
    section: str | None
    anchor: str | None
    link: str
    source_path: str
    passages: tuple[int, ...]
    support: Support = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An asserting sentence of an answer, the passages it cites, and what the check found."""

    text: str
    cites: tuple[int, ...]
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something a reader of the answer must know, as a code and as a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try at getting an answer written: which route, how it ended, how long it took.

    ``outcome`` is ``answered``, ``length`` (cut by its limit), ``repetition``, ``torn`` or what
    stopped it: ``http 503``, ``timeout (first token)``, ``connection refused``, ``breaker open``;
    ``error`` is that in a sentence. ``start_ms`` counts from the moment the first route was asked,
    ``first_token_ms`` from that of this try. ``model`` is empty and figures are ``None`` where they
    are not known.
    """

    route: str
    outcome: str
    ms: float
    start_ms: float = 0.0
    model: str = ""
    error: str = ""
    first_token_ms: float | None = None
    prefill_ms: float | None = None
    decode_ms: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where the time of one answer went, in milliseconds; ``None`` where it is not known.

    ``queue`` is the wait for a free slot: time of others, and no model's.
    """

    embed: float | None = None
    search: float | None = None
    queue: float | None = None
    prefill: float | None = None
    decode: float | None = None
    total: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with all that is needed to check it.

    A refusal has no sources but the pages that come nearest in ``nearest``; ``beneath`` quotes the
    passages where a model refused although they very probably hold the answer. What was withheld
    from the reader stays in ``original``, for the trace alone. ``strict`` is the text without the
    statements in ``left_out``, empty where none of it holds and ``None`` where nobody asked for
    that.
    A ``cached`` answer was written before, ``cached_seconds`` ago; ``cached_question`` is the
    question it was written for where that was another one.
    """

    question: str
    text: str
    refused: bool
    degraded: bool
    finish: Finish
    citations: tuple[Citation, ...]
    passages: tuple[Hit, ...]
    problems: tuple[Problem, ...]
    route: str
    attempts: tuple[Attempt, ...]
    prompt: Prompt
    prompt_tokens: int | None
    output_tokens: int | None
    timings: Timings
    claims: tuple[Claim, ...] = ()
    evidence: Evidence | None = None
    nearest: tuple[Citation, ...] = ()
    beneath: str = ""
    withheld: bool = False
    original: Answer | None = None
    strict: str | None = None
    left_out: tuple[Claim, ...] = ()
    cached: bool = False
    cached_at: datetime | None = None
    cached_seconds: float | None = None
    cached_question: str = ""
    cost_usd: float | None = None
    trace_id: str = ""
