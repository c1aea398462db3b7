"""Forty days of questions, made up with a seed: calm ones, and ones in which something happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from statistics import median

from ragctl.observe.traces import outcome_of, trace_id
from ragctl.records.answers import Citation, Problem, Timings
from ragctl.records.signals import SignalRow
from ragctl.records.traces import Span, Trace, TracedHit

FIRST = date(2026, 3, 2)  # a Monday
DAYS = 40
MODEL = "local/all-MiniLM-L6-v2-int8"
ROUTES = ("fast", "ollama/llama3")
TOPICS = ("the token bucket", "a full queue", "the write-ahead log", "page faults")
FOREIGN = (
    "How long does sourdough bread ferment?",
    "How do I feed a sourdough starter?",
    "Which React hooks replace lifecycle methods?",
    "How do React hooks keep state?",
)


@dataclass(frozen=True, kw_only=True)
class Mood:
    """What a day is like: questions, the share that is off-topic, times and faults."""

    questions: int = 40
    foreign: float = 0.03
    slower: float = 1.0
    refused: float = 0.06
    failed: float = 0.01
    flagged: float = 0.08
    fallback: float = 0.02
    cached: float = 0.2


Calendar = Callable[[int], Mood]


def calm(number: int) -> Mood:
    """Return an ordinary day; weekends are quieter."""
    return Mood(questions=18) if number % 7 in (5, 6) else Mood()


def traffic(seed: int, *, calendar: Calendar = calm, days: int = DAYS) -> Iterator[Trace]:
    """Yield the traces of some days from :data:`FIRST` on, in order."""
    random = Random(seed)
    for number in range(days):
        mood = calendar(number)
        count = max(1, round(random.gauss(mood.questions, math.sqrt(mood.questions))))
        begin = datetime.combine(FIRST + timedelta(days=number), datetime.min.time(), tzinfo=UTC)
        for seconds in sorted(random.uniform(6 * 3600, 23 * 3600) for _ in range(count)):
            yield _trace(begin + timedelta(seconds=seconds), mood, random)


def _trace(at: datetime, mood: Mood, random: Random) -> Trace:
    is_foreign = random.random() < mood.foreign
    cosine = random.gauss(0.43, 0.05) if is_foreign else random.gauss(0.66, 0.08)
    words = random.choice(FOREIGN) if is_foreign else f"How does {random.choice(TOPICS)} work?"
    failed = random.random() < mood.failed
    refused = not failed and random.random() < (0.7 if is_foreign else mood.refused)
    fell_back = random.random() < mood.fallback
    codes = ["unsupported_claim"] if not refused and random.random() < mood.flagged else []
    codes += ["fallback"] if fell_back else []
    route = "" if failed else ROUTES[1] if fell_back else ROUTES[0]
    prompt_tokens, output_tokens = round(random.gauss(1000, 120)), round(random.gauss(80, 25))
    prefill = prompt_tokens / 277 * 1000 * random.lognormvariate(0, 0.1) * mood.slower
    decode = max(output_tokens, 10) / 20 * 1000 * random.lognormvariate(0, 0.1) * mood.slower
    waiting = random.lognormvariate(6.5, 0.9) * mood.slower
    embed, search = random.lognormvariate(3.4, 0.3), random.lognormvariate(1.5, 0.3)
    total = embed + search + prefill + decode + waiting
    refs = random.sample([f"/design/0{n}-page#c{n}" for n in range(1, 8)], 3)
    attempts = [(ROUTES[0], "http 503")] if fell_back else []
    return Trace(
        id=trace_id(at, random.randbytes(10)),
        asked_at=at,
        question=words,
        tracks=(),
        k=5,
        embedding_model=MODEL,
        route=route,
        template="balanced/1",
        prompt="P",
        answer=None if failed else "So [1].",
        finish="failed" if failed else "stop",
        refused=refused,
        degraded=False,
        problems=() if failed else tuple(Problem(code=code, message=code) for code in codes),
        hits=tuple(_hit(rank, ref, cosine) for rank, ref in enumerate(refs, start=1)),
        citations=() if failed or refused else (_citation(refs[0]),),
        prompt_tokens=None if failed else prompt_tokens,
        output_tokens=None if failed else output_tokens,
        timings=Timings(total=total)
        if failed
        else Timings(embed=embed, search=search, prefill=prefill, decode=decode, total=total),
        spans=tuple(
            Span(
                name="attempt", start_ms=0.0, duration_ms=1.0,
                attributes={"route": name, "outcome": outcome}, parent=0,
            )
            for name, outcome in [*attempts, *([] if failed else [(route, "answered")])]
        ),
        top_cosine=None if failed else cosine,
        idf_share=None if failed else 0.8,
        probability=None if failed else 1 / (1 + math.exp(-12 * (cosine - 0.5))),
        error_code="model_unreachable" if failed else None,
        error_message="no model" if failed else None,
        mode="hybrid",
        cached=not failed and not codes and random.random() < mood.cached,
    )  # fmt: skip


def _hit(rank: int, ref: str, cosine: float) -> TracedHit:
    return TracedHit(
        rank=rank, chunk_id=rank, ref=ref, section="S", score=cosine, vector_score=cosine,
        keyword_score=None, in_prompt=True, cited=rank == 1,
    )  # fmt: skip


def _citation(ref: str) -> Citation:
    url = ref.partition("#")[0]
    return Citation(
        n=1, title="T", url=url, section="S", anchor="s", link=f"{url}#s", source_path="x.md",
        passages=(1,),
    )  # fmt: skip


def rows_of(traces: Sequence[Trace]) -> list[SignalRow]:
    """Return what the view ``daily_signals`` says of traces, counted here by itself."""
    by_day: dict[str, list[Trace]] = {}
    for trace in traces:
        by_day.setdefault(trace.asked_at.date().isoformat(), []).append(trace)
    return [_row(day, by_day[day]) for day in sorted(by_day)]


def _row(day: str, traces: Sequence[Trace]) -> SignalRow:
    outcomes = [outcome_of(trace).partition(":")[0] for trace in traces]
    answered = [trace for trace in traces if trace.error_code is None]
    times = [trace.timings for trace in answered]
    computed = [t.embed + t.search + t.prefill + t.decode for t in times]  # type: ignore[operator]
    waited = [t.total - c for t, c in zip(times, computed, strict=True)]  # type: ignore[operator]
    codes = [{problem.code for problem in trace.problems} for trace in traces]
    row = SignalRow(
        key=day,
        questions=len(traces),
        answered=outcomes.count("answered"),
        refused=outcomes.count("refused"),
        failed=outcomes.count("failed"),
        flagged=sum(bool(one - {"fallback"}) for one in codes),
        fallbacks=sum("fallback" in one for one in codes),
        cached=sum(trace.cached for trace in traces),
        p50_ms=_quantile([t.total for t in times], 0.5),
        p95_ms=_quantile([t.total for t in times], 0.95),
        compute_ms=_quantile(computed, 0.5),
        waiting_ms=_quantile(waited, 0.5),
        top_cosine=_quantile([trace.top_cosine for trace in answered], 0.5),
        probability=_quantile([trace.probability for trace in answered], 0.5),
        prompt_tokens=sum(trace.prompt_tokens or 0 for trace in answered),
        output_tokens=sum(trace.output_tokens or 0 for trace in answered),
        prompt_tokens_median=_quantile([trace.prompt_tokens for trace in answered], 0.5),
        output_tokens_median=_quantile([trace.output_tokens for trace in answered], 0.5),
        embedded=len(answered),
    )
    phases = ("embed", "search", "prefill", "decode")
    medians = {f"{name}_ms": median([getattr(t, name) for t in times]) for name in phases}
    return replace(row, **medians)


def _quantile(values: Sequence[float | None], share: float) -> float | None:
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return None
    at = share * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
