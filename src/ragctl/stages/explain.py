"""Why a passage was found: its score taken apart, and what put it before the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.evidence import TermShare
    from ragctl.records.search import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """By how much a passage is ahead of the next one, and where that comes from.

    ``vector`` and ``keyword`` add up to ``score``; ``term`` makes the largest difference in favour
    of the passage, empty where none does, and ``term_score`` is what it adds to the score.
    """

    score: float
    vector: float
    keyword: float
    term: str
    term_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The score of a hit as a sum: ``vector`` and ``keyword`` are weighted parts of it.

    ``shares`` are the terms it holds, the heaviest first, each with its part of ``keyword``.
    """

    hit: Hit
    vector: float
    keyword: float
    shares: tuple[tuple[TermShare, float], ...]
    lead: Lead | None


def explain(
    hits: Sequence[Hit], shares: Mapping[int, Sequence[TermShare]], *, vector_weight: float
) -> tuple[Explanation, ...]:
    """Return the explanation of each hit; ``shares`` are by the id of the passage."""
    parts = [_parts(hit, shares.get(hit.chunk_id, ()), vector_weight) for hit in hits]
    leads: list[Lead | None] = [_lead(one, other) for one, other in pairwise(parts)]
    return tuple(
        Explanation(
            hit=hit, vector=part.vector, keyword=part.keyword, shares=part.shares, lead=lead
        )
        for hit, part, lead in zip(hits, parts, (*leads, None), strict=False)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    vector: float
    keyword: float
    shares: tuple[tuple[TermShare, float], ...]


def _parts(hit: Hit, shares: Sequence[TermShare], vector_weight: float) -> _Parts:
    if hit.keyword_score is None:
        return _Parts(vector=hit.score, keyword=0.0, shares=())
    vector = 0.0 if hit.vector_score is None else vector_weight * hit.vector_score
    weight = 1.0 if hit.vector_score is None else 1 - vector_weight
    total = sum(share.share for share in shares)
    keyword = weight * hit.keyword_score
    return _Parts(
        vector=vector,
        keyword=keyword,
        shares=tuple((share, keyword * share.share / total) for share in shares if total),
    )


def _lead(one: _Parts, other: _Parts) -> Lead:
    has = {share.term: score for share, score in one.shares}
    lacks = {share.term: score for share, score in other.shares}
    gains = {term: score - lacks.get(term, 0.0) for term, score in has.items()}
    term = max(gains, key=lambda term: gains[term], default="")
    is_gain = bool(term) and gains[term] > 0
    vector, keyword = one.vector - other.vector, one.keyword - other.keyword
    return Lead(
        score=vector + keyword,
        vector=vector,
        keyword=keyword,
        term=term if is_gain else "",
        term_score=gains[term] if is_gain else 0.0,
    )
