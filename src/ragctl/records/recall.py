"""What a vector index finds of the exact nearest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthRecall:
    """How an approximate index does at one width: how many candidates a search keeps.

    ``recall`` is the share of the true nearest that it finds, ``median_ms`` what a search takes.
    """

    width: int
    recall: float
    median_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallFigures:
    """An approximate index held against the exact scan, width by width.

    ``source`` says what was searched for: ``traces`` (questions that were asked), ``file``
    (questions of a file) or ``passages`` (their own vectors, each left out of what is found).
    """

    source: str
    questions: int
    k: int
    exact_ms: float
    widths: tuple[WidthRecall, ...]
