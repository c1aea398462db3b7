"""Traces as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl.observe.traces import outcome_of

if TYPE_CHECKING:
    from ragctl.records.traces import Trace, TracedHit


def trace_summary(trace: Trace) -> dict[str, object]:
    """Return what a list tells of a trace."""
    return {
        "id": trace.id,
        "asked_at": trace.asked_at.isoformat(),
        "question": trace.question,
        "outcome": outcome_of(trace),
        "route": trace.route,
        "embedding_model": trace.embedding_model,
        "tracks": list(trace.tracks),
        "pages": list(trace.pages),
        "mode": trace.mode,
        "cached": trace.cached,
        "ms": _rounded(trace.timings.total),
    }


def trace_document(trace: Trace, *, with_prompt: bool) -> dict[str, object]:
    """Return all that is kept of a trace; the prompt on request."""
    timings = trace.timings
    phases = ("embed", "search", "queue", "prefill", "decode", "total")
    failed = trace.error_code is not None
    return {
        "schema": "ragctl.trace/1",
        **trace_summary(trace),
        "ms": {phase: _rounded(getattr(timings, phase)) for phase in phases},
        "k": trace.k,
        "template": trace.template,
        "finish": trace.finish,
        "refused": trace.refused,
        "degraded": trace.degraded,
        "tokens": {
            "prompt": trace.prompt_tokens,
            "prompt_counted": trace.prompt_counted,
            "output": trace.output_tokens,
        },
        "evidence": {
            "top_cosine": _share(trace.top_cosine),
            "idf_share": _share(trace.idf_share),
            "probability": _share(trace.probability),
        },
        "spans": [
            {
                "name": span.name,
                "start_ms": _rounded(span.start_ms),
                "duration_ms": _rounded(span.duration_ms),
                "attributes": dict(span.attributes),
                "parent": span.parent,
            }
            for span in trace.spans
        ],
        "hits": [_hit(hit) for hit in trace.hits],
        "citations": [
            {
                "n": citation.n,
                "title": citation.title,
                "url": citation.url,
                "section": citation.section or "",
                "anchor": citation.anchor or "",
                "link": citation.link,
                "passages": list(citation.passages),
            }
            for citation in trace.citations
        ],
        "problems": [
            {"code": problem.code, "message": problem.message} for problem in trace.problems
        ],
        "answer": trace.answer,
        "error": {"code": trace.error_code, "message": trace.error_message} if failed else None,
        **({"prompt": trace.prompt} if with_prompt else {}),
    }


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _hit(hit: TracedHit) -> dict[str, object]:
    return {
        "rank": hit.rank,
        "chunk_id": hit.chunk_id,
        "ref": hit.ref,
        "section": hit.section or "",
        "score": round(hit.score, 6),
        "vector_score": None if hit.vector_score is None else round(hit.vector_score, 6),
        "keyword_score": hit.keyword_score,
        "in_prompt": hit.in_prompt,
        "cited": hit.cited,
        "named": hit.named,
    }


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 1)
