"""Recall of an approximate search, computed from what it finds and what there is to find."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import count

import pytest

from ragctl.evaluate.recall import (
    Sample,
    at_width,
    measure_recall,
    narrowest,
    recall,
)
from ragctl.records.recall import RecallFigures, WidthRecall
from ragctl.records.search import Hit, Query


def _hit(chunk_id: int, score: float) -> Hit:
    return Hit(
        n=1, chunk_id=chunk_id, ref="", url="", title="", track="", section=None, anchor=None,
        body="", start_char=0, end_char=1, source_path="", score=score, vector_score=score,
    )  # fmt: skip


class Finds:
    """Finds the same passages for every question, as many as are asked for."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = hits
        self.asked: list[int] = []

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        self.asked.append(query.k)
        return tuple(self.hits[: query.k])


ALL = [_hit(number, 1 - number / 10) for number in range(8)]


def _measured(samples: Sequence[Sample], by_width: dict[int, Finds]) -> RecallFigures:
    ticks = count()
    return measure_recall(
        samples,
        source="passages",
        exact=Finds(ALL),
        by_width=by_width,
        k=5,
        clock=lambda: next(ticks) / 1000,
        report=lambda _done: None,
    )


def test_recall_is_the_share_of_the_true_nearest_that_were_found() -> None:
    assert recall(ALL[:5], ALL[:5]) == 1.0
    assert recall(ALL[:5], [ALL[0], ALL[2], ALL[4], ALL[6], ALL[7]]) == pytest.approx(0.6)
    assert recall(ALL[:5], ALL[:2]) == pytest.approx(0.4)
    assert recall([], []) == 1.0


def test_another_passage_as_near_as_the_last_counts_as_found() -> None:
    twin = _hit(99, ALL[4].score)
    assert recall(ALL[:5], [*ALL[:4], twin]) == 1.0


def test_each_width_is_held_against_the_exact_scan() -> None:
    narrow, wide = Finds([ALL[0], *ALL[5:]]), Finds(ALL)
    figures = _measured([Sample(vector=array("f", [1.0]))] * 3, {40: narrow, 100: wide})
    assert [each.width for each in figures.widths] == [40, 100]
    assert [each.recall for each in figures.widths] == pytest.approx([0.2, 1.0])
    assert [figures.exact_ms, figures.widths[0].median_ms] == pytest.approx([1.0, 1.0])
    assert (figures.questions, figures.k, figures.source) == (3, 5, "passages")


def test_a_passage_is_left_out_of_its_own_neighbours() -> None:
    finds = Finds(ALL[1:])
    figures = _measured([Sample(vector=array("f", [1.0]), own_id=0)], {40: finds})
    assert finds.asked == [6]
    assert figures.widths[0].recall == 1.0
    lost = _measured([Sample(vector=array("f", [1.0]), own_id=0)], {40: Finds([ALL[0], *ALL[3:]])})
    assert lost.widths[0].recall == pytest.approx(0.6)


def _figures(source: str, *widths: tuple[int, float]) -> RecallFigures:
    return RecallFigures(
        source=source,
        questions=1,
        k=5,
        exact_ms=1.0,
        widths=tuple(WidthRecall(width=w, recall=r, median_ms=1.0) for w, r in widths),
    )


def test_the_narrowest_width_that_is_good_enough_is_chosen() -> None:
    figures = _figures("traces", (40, 0.9), (100, 0.985), (200, 1.0))
    assert narrowest(figures) == 100
    assert narrowest(figures, enough=1.1) is None
    used = at_width(figures, 200)
    assert used is not None
    assert used.recall == 1.0
    assert at_width(figures, 50) is None


def test_passages_are_easier_than_questions_so_the_next_wider_one_is_chosen() -> None:
    assert narrowest(_figures("passages", (40, 0.9), (100, 0.985), (200, 1.0))) == 200
    assert narrowest(_figures("passages", (40, 0.9), (100, 0.97), (200, 1.0))) == 200
    assert narrowest(_figures("passages", (40, 0.9))) is None
