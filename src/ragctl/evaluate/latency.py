"""Where the time of an answer goes on this machine: compute apart from waiting, stage by stage.

Each question is asked several times in a row. The first time a model reads the whole prompt; after
that a server may have kept what it computed for the same beginning (its prefix cache), so both are
told apart. Servers report their own time for reading (prefill) and writing (decode); what a client
waited beyond that is queueing, loading and transport.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ragctl.records.answers import Answer, Prompt

STAGES: Final = (
    *("embed_ms", "search_ms", "waiting_ms", "prefill_ms", "prefill_tokens_per_second"),
    *("first_token_ms", "decode_ms", "decode_tokens_per_second", "total_ms"),
)
"""What is measured of one answer, in the order of its steps; rates follow their time."""

WITHOUT_MODEL: Final = ("embed_ms", "search_ms")
"""What there is to measure where no model writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One answer with its times: values by the names of ``STAGES``, ``None`` where not known.

    ``is_again`` says that the same prompt was sent just before.
    """

    is_again: bool
    route: str
    is_whole: bool
    prompt_tokens: int | None
    output_tokens: int | None
    values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of some values, their range, and how many there were."""

    median: float
    least: float
    most: float
    count: int


Ask = Callable[[str, Callable[[Prompt], None], Callable[[str], None]], Answer]
"""Answers a question, telling of the prompt as it is sent and of the text as it comes."""


def time_answers(
    questions: Sequence[str],
    *,
    ask: Ask,
    runs: int,
    report: Callable[[int], None],
    clock: Callable[[], float],
) -> Iterator[Timed]:
    """Ask each question so many times in a row; ``report`` is told how many answers there are."""
    done = 0
    for question in questions:
        for run in range(runs):
            yield _timed(question, ask, clock, is_again=run > 0)
            done += 1
            report(done)


def _timed(question: str, ask: Ask, clock: Callable[[], float], *, is_again: bool) -> Timed:
    sent: list[float] = []
    first: list[float] = []

    def on_prompt(_prompt: Prompt) -> None:
        sent.append(clock())

    def on_text(_piece: str) -> None:
        if not first:
            first.append(clock())

    began = clock()
    answer = ask(question, on_prompt, on_text)
    times = answer.timings
    values: dict[str, float | None] = {"embed_ms": times.embed, "search_ms": times.search}
    by_model = not answer.degraded and answer.finish in ("stop", "length")
    if by_model and times.total is not None and sent:
        written_ms = times.total - (sent[0] - began) * 1000
        values |= _of_model(answer, written_ms)
        values["first_token_ms"] = (first[0] - sent[0]) * 1000 if first else None
        values["total_ms"] = times.total
    return Timed(
        is_again=is_again,
        route=answer.route,
        is_whole=by_model,
        prompt_tokens=answer.prompt_tokens if by_model else None,
        output_tokens=answer.output_tokens if by_model else None,
        values={stage: values.get(stage) for stage in STAGES},
    )


def _of_model(answer: Answer, written_ms: float) -> dict[str, float | None]:
    prefill, decode = answer.timings.prefill, answer.timings.decode
    known = prefill is not None and decode is not None
    return {
        "prefill_ms": prefill,
        "prefill_tokens_per_second": _rate(answer.prompt_tokens, prefill),
        "decode_ms": decode,
        "decode_tokens_per_second": _rate(answer.output_tokens, decode),
        "waiting_ms": max(written_ms - (prefill or 0) - (decode or 0), 0.0) if known else None,
    }


def _rate(tokens: int | None, milliseconds: float | None) -> float | None:
    return tokens / milliseconds * 1000 if tokens is not None and milliseconds else None


def spreads(timed: Sequence[Timed], *, is_again: bool) -> dict[str, Spread | None]:
    """Return the spread of each stage, over the first answers or over those that came again."""
    chosen = [one for one in timed if one.is_again == is_again]
    return {stage: spread([one.values[stage] for one in chosen]) for stage in STAGES}


def spread(values: Sequence[float | None]) -> Spread | None:
    """Return the spread of the values that are known, ``None`` where none is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(
        median=statistics.median(known), least=min(known), most=max(known), count=len(known)
    )
