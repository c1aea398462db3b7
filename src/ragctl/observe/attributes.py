"""What is noted of each step of an answer: figures, names and verdicts, never a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.observe.stopwatch import Attributes
    from ragctl.records.answers import Answer, Attempt, Draft, Prompt
    from ragctl.records.evidence import Evidence
    from ragctl.records.search import Hit, Query


def of_search(query: Query, hits: Sequence[Hit], *, mode: str) -> Attributes:
    """Return what was searched and how well it was found; without a vector words alone ran."""
    cosines = [hit.vector_score for hit in hits if hit.vector_score is not None]
    return {
        "mode": mode if query.vector else "keyword",
        "k": query.k,
        "tracks": query.tracks or None,
        "pages": query.pages or None,
        "hits": len(hits),
        "top_score": hits[0].score if hits else None,
        "top_cosine": max(cosines, default=None),
    }


def of_evidence(evidence: Evidence) -> Attributes:
    """Return how likely the passages found can answer."""
    return {
        "probability": evidence.probability,
        "verdict": evidence.verdict or None,
        "top_cosine": evidence.top_cosine,
        "idf_share": evidence.idf_share,
    }


def of_prompt(prompt: Prompt) -> Attributes:
    """Return what the prompt was made of."""
    return {
        "template": prompt.template,
        "passages": len(prompt.passages),
        "tokens": prompt.tokens,
        "crowded_out": prompt.crowded_out,
    }


def of_draft(draft: Draft) -> Attributes:
    """Return who wrote, and how it ended."""
    return {
        "route": draft.route,
        "finish": draft.finish,
        "attempts": len(draft.attempts),
        "cost_usd": draft.cost_usd,
    }


def of_attempt(attempt: Attempt) -> Attributes:
    """Return how one route fared."""
    return {
        "route": attempt.route,
        "outcome": attempt.outcome,
        "model": attempt.model or None,
        "error": attempt.error or None,
        "first_token_ms": attempt.first_token_ms,
        "prefill_ms": attempt.prefill_ms,
        "decode_ms": attempt.decode_ms,
        "prompt_tokens": attempt.prompt_tokens,
        "output_tokens": attempt.output_tokens,
    }


def of_check(answer: Answer) -> Attributes:
    """Return what the check found: claims by verdict, and the codes of the problems."""
    verdicts = Counter(claim.verdict for claim in answer.claims)
    return {
        "refused": answer.refused,
        "citations": len(answer.citations),
        "claims": len(answer.claims),
        **{f"claims_{verdict}": count for verdict, count in sorted(verdicts.items())},
        "problems": tuple(problem.code for problem in answer.problems) or None,
    }
