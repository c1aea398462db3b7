"""Recall of an approximate index: how many of the true nearest passages it finds, and how fast.

A passage that an index finds counts where it is no farther than the last of the ``k`` that the
exact scan finds, so that among equally near ones it does not matter which are found (Aumueller,
Bernhardsson, Faithfull: ANN-Benchmarks, 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from ragctl.records.recall import RecallFigures, WidthRecall
from ragctl.records.search import Hit, Query

if TYPE_CHECKING:
    from ragctl.protocols import Retriever
    from ragctl.records.vectors import Vector

WIDTHS = (40, 100, 200, 400)
"""How many candidates a search keeps, of which the narrowest that is good enough is taken."""

ENOUGH = 0.98
"""The recall that a width must have to be used without being asked for."""

RECALL_AT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A vector to search for; ``own_id`` is the passage it belongs to, which is left out."""

    vector: Vector
    own_id: int | None = None


def measure_recall(
    samples: Sequence[Sample],
    *,
    source: str,
    exact: Retriever,
    by_width: Mapping[int, Retriever],
    k: int,
    clock: Callable[[], float],
    report: Callable[[int], None],
) -> RecallFigures:
    """Search for every sample exactly and at each width; ``report`` is told how many are done.

    The ways to search take turns, so that all meet the same caches. There must be a sample.
    """
    recalls: dict[int, list[float]] = {width: [] for width in by_width}
    times: dict[int, list[float]] = {width: [] for width in by_width}
    exact_times: list[float] = []
    for number, sample in enumerate(samples, start=1):
        truth, took = _searched(sample, exact, k, clock)
        exact_times.append(took)
        for width, retriever in by_width.items():
            found, took = _searched(sample, retriever, k, clock)
            recalls[width].append(recall(truth, found))
            times[width].append(took)
        report(number)
    return RecallFigures(
        source=source,
        questions=len(samples),
        k=k,
        exact_ms=median(exact_times),
        widths=tuple(
            WidthRecall(width=width, recall=fmean(recalls[width]), median_ms=median(times[width]))
            for width in by_width
        ),
    )


def _searched(
    sample: Sample, retriever: Retriever, k: int, clock: Callable[[], float]
) -> tuple[list[Hit], float]:
    """Return the k nearest but the sample's own passage, and the milliseconds that it took."""
    wanted = k if sample.own_id is None else k + 1
    began = clock()
    hits = retriever.retrieve(Query(text="", vector=sample.vector, k=wanted))
    took = (clock() - began) * 1000
    return [hit for hit in hits if hit.chunk_id != sample.own_id][:k], took


def recall(truth: Sequence[Hit], found: Sequence[Hit]) -> float:
    """Return the share of the true nearest that were found; 1 where there are none to find."""
    if not truth:
        return 1.0
    last = truth[-1].score
    return sum(hit.score >= last for hit in found) / len(truth)


def narrowest(figures: RecallFigures, *, enough: float = ENOUGH) -> int | None:
    """Return the smallest width whose recall is enough; ``None`` where none has it.

    Measured on passages it is the next wider one: a passage lies among its neighbours, a question
    beside them. On a site of 3,259 passages a width of 40 had 1.000 for passages and 0.965 for
    80 questions, a width of 100 had 0.997 for those.
    """
    good = sorted(each.width for each in figures.widths if each.recall >= enough)
    if figures.source == "passages" and len(good) > 1:
        return good[1]
    return good[0] if good else None


def at_width(figures: RecallFigures, width: int | None) -> WidthRecall | None:
    """Return the figures of one width; ``None`` where it was not measured."""
    return next((each for each in figures.widths if each.width == width), None)
