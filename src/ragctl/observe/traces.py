"""From an answer, or from a failure, to the trace that is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ragctl.errors import RagctlError
from ragctl.observe.redaction import redacted
from ragctl.observe.stopwatch import error_code
from ragctl.records.answers import Answer, Citation, Problem, Prompt, Timings
from ragctl.records.traces import Asked, Span, Trace, TracedHit

if TYPE_CHECKING:
    from ragctl.records.search import Hit


def trace_id(at: datetime, random: bytes) -> str:
    """Return a UUIDv7 (RFC 9562) as text: 48 bits of milliseconds, 74 of ten random bytes."""
    number = int(at.timestamp() * 1000) << 80 | int.from_bytes(random[:10], "big")
    number = number & ~(0xF << 76) | 0x7 << 76  # version
    number = number & ~(0x3 << 62) | 0x2 << 62  # variant
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def trace_of(new_id: str, asked: Asked, answer: Answer, spans: Sequence[Span]) -> Trace:
    """Return the trace of a question that got an answer, whole, torn or withheld."""
    written = answer.original or answer
    return Trace(
        id=new_id,
        asked_at=asked.at,
        question=asked.question,
        tracks=asked.tracks,
        k=asked.k,
        embedding_model=asked.embedding_model,
        route=answer.route,
        template=answer.prompt.template,
        prompt=answer.prompt.text,
        answer=written.text,
        finish=answer.finish,
        refused=answer.refused,
        degraded=answer.degraded,
        problems=tuple(
            replace(problem, message=redacted(problem.message)) for problem in answer.problems
        ),
        hits=_traced(answer.passages, answer.prompt, written.citations),
        citations=written.citations,
        prompt_tokens=answer.prompt_tokens,
        output_tokens=answer.output_tokens,
        timings=answer.timings,
        spans=tuple(spans),
        top_cosine=answer.evidence.top_cosine if answer.evidence else None,
        idf_share=answer.evidence.idf_share if answer.evidence else None,
        probability=answer.evidence.probability if answer.evidence else None,
        prompt_counted=answer.prompt.tokens or None,
        mode=None
        if answer.timings.search is None and not answer.cached
        else _mode(asked, answer.passages, answer.problems),
        pages=asked.pages,
        cached=answer.cached,
    )


def trace_of_failure(
    new_id: str,
    asked: Asked,
    error: BaseException,
    *,
    prompt: Prompt | None,
    text: str,
    total_ms: float,
    spans: Sequence[Span],
) -> Trace:
    """Return the trace of a question without an answer: how far it came, and what stopped it."""
    return Trace(
        id=new_id,
        asked_at=asked.at,
        question=asked.question,
        tracks=asked.tracks,
        k=asked.k,
        embedding_model=asked.embedding_model,
        route="",
        template=prompt.template if prompt else asked.template,
        prompt=prompt.text if prompt else None,
        answer=text or None,
        finish="failed",
        refused=False,
        degraded=False,
        problems=(),
        hits=_traced(prompt.passages, prompt, ()) if prompt else (),
        citations=(),
        prompt_tokens=None,
        output_tokens=None,
        timings=Timings(total=total_ms),
        spans=tuple(spans),
        error_code=error_code(error),
        error_message=redacted(error.message)
        if isinstance(error, RagctlError)
        else type(error).__name__,
        mode=_mode(asked, prompt.passages if prompt else (), ()),
        pages=asked.pages,
    )


def outcome_of(trace: Trace) -> str:
    """Return what became of a question in one word, as the view ``answer_log`` has it."""
    if trace.error_code is not None:
        return f"failed: {trace.error_code}"
    if trace.finish in ("torn", "repetition"):
        return "incomplete"
    if trace.refused:
        return "refused"
    return "extractive" if trace.degraded else "answered"


def without_texts(trace: Trace) -> Trace:
    """Return a trace as it is kept without texts: nothing that a user or a model wrote."""
    return replace(
        trace,
        question=None,
        prompt=None,
        answer=None,
        problems=tuple(Problem(code=problem.code, message="") for problem in trace.problems),
        error_message=None,
        spans=tuple(
            replace(
                span,
                attributes={name: one for name, one in span.attributes.items() if name != "error"},
            )
            for span in trace.spans
        ),
    )


def _mode(asked: Asked, passages: Sequence[Hit], problems: Sequence[Problem]) -> str:
    """Return the mode that ran: words alone did where the question could not be embedded."""
    by_words = any(problem.code == "keyword_only" for problem in problems) or (
        bool(passages) and all(hit.vector_score is None for hit in passages)
    )
    return "keyword" if by_words else asked.mode


def _traced(
    passages: Sequence[Hit], prompt: Prompt, citations: Sequence[Citation]
) -> tuple[TracedHit, ...]:
    sent = {hit.n for hit in prompt.passages}
    cited = {number for citation in citations for number in citation.passages}
    return tuple(
        TracedHit(
            rank=hit.n,
            chunk_id=hit.chunk_id,
            ref=hit.ref,
            section=hit.section,
            score=hit.score,
            vector_score=hit.vector_score,
            keyword_score=hit.keyword_score,
            in_prompt=hit.n in sent,
            cited=hit.n in cited,
            named=hit.named,
        )
        for hit in passages
    )
