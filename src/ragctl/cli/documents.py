"""Records as JSON documents. Every document names its schema; fields are only ever added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragctl.stages.links import link_to

if TYPE_CHECKING:
    from ragctl.records.answers import Answer
    from ragctl.records.evidence import Evidence
    from ragctl.records.ingest import IngestSummary
    from ragctl.records.links import LinkStyle
    from ragctl.records.search import Hit
    from ragctl.records.stored import StoredPage

Document = dict[str, object]


def answer_document(answer: Answer, *, include_prompt: bool = False) -> Document:
    """Return ``ragctl.answer/1``; keys of later capabilities are there and empty."""
    document: Document = {
        "schema": "ragctl.answer/1",
        "question": answer.question,
        "answer": answer.text,
        "refused": answer.refused,
        "degraded": answer.degraded,
        "withheld": answer.withheld,
        "cached": answer.cached,
        "cached_at": answer.cached_at.isoformat() if answer.cached_at else "",
        "age_seconds": _rounded(answer.cached_seconds),
        "cached_question": answer.cached_question,
        "finish": answer.finish,
        "truncated": answer.finish in ("length", "repetition", "torn"),
        "citations": [
            {
                "n": citation.n,
                "title": citation.title,
                "url": citation.url,
                "section": citation.section or "",
                "anchor": citation.anchor or "",
                "link": citation.link,
                "support": citation.support,
                "passages": list(citation.passages),
            }
            for citation in answer.citations
        ],
        "claims": [
            {
                "text": claim.text,
                "cites": list(claim.cites),
                "verdict": claim.verdict,
                "why": claim.why,
            }
            for claim in answer.claims
        ],
        "passages": [passage_document(hit) for hit in answer.passages],
        "problems": [
            {"code": problem.code, "message": problem.message} for problem in answer.problems
        ],
        "evidence": answer.evidence and evidence_document(answer.evidence),
        "nearest": [
            {
                "title": page.title,
                "url": page.url,
                "section": page.section or "",
                "anchor": page.anchor or "",
                "link": page.link,
            }
            for page in answer.nearest
        ],
        "beneath": answer.beneath,
        "answer_strict": answer.strict,
        "left_out": [claim.text for claim in answer.left_out],
        "route": answer.route,
        "attempts": [
            {"route": attempt.route, "outcome": attempt.outcome, "ms": round(attempt.ms, 1)}
            for attempt in answer.attempts
        ],
        "tokens": {"prompt": answer.prompt_tokens, "output": answer.output_tokens},
        "ms": {
            "embed": _rounded(answer.timings.embed),
            "search": _rounded(answer.timings.search),
            "queue": _rounded(answer.timings.queue),
            "prefill": _rounded(answer.timings.prefill),
            "decode": _rounded(answer.timings.decode),
            "total": _rounded(answer.timings.total),
        },
        "cost_usd": answer.cost_usd,
        "trace_id": answer.trace_id,
    }
    if include_prompt:
        document["prompt"] = answer.prompt.text
    return document


def evidence_document(evidence: Evidence) -> Document:
    """Return how likely the passages can answer; ``probability`` is null without a calibration."""
    return {
        "probability": _score(evidence.probability),
        "verdict": evidence.verdict,
        "top_cosine": _score(evidence.top_cosine),
        "idf_share": round(evidence.idf_share, 6),
        "best_match": round(evidence.best_match, 6),
        "rare_name": evidence.rare_name,
    }


def passage_document(hit: Hit) -> Document:
    """Return a passage as it was found."""
    return {
        "n": hit.n,
        "ref": hit.ref,
        "url": hit.url,
        "section": hit.section or "",
        "anchor": hit.anchor or "",
        "title": hit.title,
        "track": hit.track,
        "body": hit.body,
        "score": round(hit.score, 6),
        "vector_score": _score(hit.vector_score),
        "keyword_score": _score(hit.keyword_score),
    }


def _score(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 1)


def ingest_document(summary: IngestSummary) -> Document:
    """Return ``ragctl.ingest/1``."""
    return {
        "schema": "ragctl.ingest/1",
        "root": summary.root,
        "embedding": summary.embedding,
        "tracks": [
            {
                "track": track.track,
                "pages": track.pages,
                "passages": track.passages,
                "embedded": track.embedded,
                "stored": track.stored,
                "unchanged": track.unchanged,
                "removed": track.removed,
                "left_out": track.left_out,
            }
            for track in summary.tracks
        ],
        "left_out": [
            {"path": left.path, "reason": left.reason, "intended": left.intended}
            for left in summary.left_out
        ],
        "refused": [
            {
                "path": refused.path,
                "ref": refused.chunk.ref,
                "section": refused.chunk.section or "",
                "reason": refused.reason,
                "message": refused.message,
            }
            for refused in summary.refused
        ],
        "warnings": list(summary.warnings),
        "seconds": {stage: round(seconds, 3) for stage, seconds in summary.seconds.items()},
    }


def sources_document(pages: Sequence[StoredPage], *, links: LinkStyle) -> Document:
    """Return ``ragctl.sources/1``: pages in reading order, and totals by track."""
    passages: Counter[str] = Counter()
    words: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for page in pages:
        passages[page.track] += page.passages
        words[page.track] += page.words
        counted[page.track] += not page.is_landing
    return {
        "schema": "ragctl.sources/1",
        "pages": [
            {
                "track": page.track,
                "position": page.position,
                "title": page.title,
                "url": page.url,
                "link": link_to(links, page.url, page.source_path),
                "landing": page.is_landing,
                "passages": page.passages,
                "words": page.words,
                "source_path": page.source_path,
            }
            for page in pages
        ],
        "tracks": [
            {
                "track": track,
                "pages": counted[track],
                "passages": passages[track],
                "words": words[track],
            }
            for track in dict.fromkeys(page.track for page in pages)
        ],
    }
