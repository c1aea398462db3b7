"""Why a passage was found: parts that add up, and what decided."""

from __future__ import annotations

import pytest

from ragctl.records.evidence import TermShare
from ragctl.records.search import Hit
from ragctl.stages.explain import explain


def _hit(n: int, score: float, *, vector: float | None = None, keyword: float | None = None) -> Hit:
    return Hit(
        n=n, chunk_id=n, ref=f"/a#c{n}", url="/a", title="A", track="a", section=None, anchor=None,
        body="", start_char=0, end_char=1, source_path="a.md", score=score, vector_score=vector,
        keyword_score=keyword,
    )  # fmt: skip


def _share(n: int, term: str, share: float) -> TermShare:
    return TermShare(chunk_id=n, term=term, passages=1, idf=1.0, share=share, is_name=False)


def test_parts_add_up_to_the_score_and_shares_to_the_keyword_part() -> None:
    hits = [_hit(1, 0.6, vector=0.5, keyword=1.0), _hit(2, 0.5, vector=0.5, keyword=0.5)]
    shares = {1: [_share(1, "a", 3.0), _share(1, "b", 1.0)], 2: [_share(2, "b", 2.0)]}
    first, second = explain(hits, shares, vector_weight=0.8)
    assert first.vector + first.keyword == pytest.approx(0.6)
    assert [score for _, score in first.shares] == pytest.approx([0.15, 0.05])
    assert first.lead is not None
    assert first.lead.score == pytest.approx(0.1)
    assert first.lead.term == "a"
    assert first.lead.term_score == pytest.approx(0.15)
    assert second.lead is None


def test_a_lead_by_nearness_alone_names_no_term() -> None:
    hits = [_hit(1, 0.9, vector=0.9), _hit(2, 0.4, vector=0.4)]
    first, _ = explain(hits, {}, vector_weight=0.8)
    assert first.lead is not None
    assert first.lead.term == ""
    assert first.lead.vector == pytest.approx(0.5)


def test_nothing_found_is_explained_by_nothing() -> None:
    assert explain([], {}, vector_weight=0.8) == ()
