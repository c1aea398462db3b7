"""Which passages are worth sending."""

from __future__ import annotations

from ragctl.prompts import shipped
from ragctl.records.search import Hit
from ragctl.stages.render import render
from ragctl.stages.select import worth_sending


def _hits(*scores: float, named: int = 0, fused: bool = True) -> list[Hit]:
    return [
        Hit(
            n=n,
            chunk_id=n,
            ref=f"/a/page#c{n}",
            url="/a/page",
            title="Title",
            track="a",
            section=None,
            anchor=None,
            body=f"Body {n}.",
            start_char=n,
            end_char=n + 1,
            source_path="a/page.md",
            score=score,
            vector_score=score,
            keyword_score=score if fused else None,
            named=n == named,
        )
        for n, score in enumerate(scores, start=1)
    ]


def _numbers(hits: tuple[Hit, ...]) -> list[int]:
    return [hit.n for hit in hits]


def test_the_end_that_falls_behind_is_left_out() -> None:
    assert _numbers(worth_sending(_hits(0.8, 0.7, 0.5, 0.4), least_share=0.65)) == [1, 2]
    assert _numbers(worth_sending(_hits(0.8, 0.7, 0.6, 0.55), least_share=0.65)) == [1, 2, 3, 4]


def test_the_best_one_always_stays_and_a_share_of_nothing_keeps_all() -> None:
    assert _numbers(worth_sending(_hits(0.1), least_share=1.0)) == [1]
    assert _numbers(worth_sending(_hits(0.9, 0.01), least_share=0.0)) == [1, 2]
    assert worth_sending([], least_share=0.65) == ()


def test_a_passage_with_a_rare_name_stays_and_so_do_those_before_it() -> None:
    hits = _hits(0.9, 0.5, 0.4, 0.3, 0.2, named=4)
    assert _numbers(worth_sending(hits, least_share=0.65)) == [1, 2, 3, 4]


def test_nearest_passages_alone_all_stay() -> None:
    assert len(worth_sending(_hits(0.9, 0.1, 0.05, fused=False), least_share=0.65)) == 3


def test_what_is_not_worth_sending_is_not_told_as_crowded_out() -> None:
    prompt = render(
        "Why?",
        _hits(0.8, 0.7, 0.2),
        template=shipped("balanced"),
        budget_tokens=1500,
        least_share=0.65,
    )
    assert _numbers(prompt.passages) == [1, 2]
    assert prompt.crowded_out == 0
    assert "Body 3." not in prompt.text
