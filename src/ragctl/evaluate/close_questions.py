"""How often a cache of answers would be right about questions in other words, and how often wrong.

A file has groups: a question, the same one in other words, and traps, which sound alike and ask for
something else. The originals are in the cache; every other question is asked of it, and gets the
answer to the nearest original that passes. Right is the answer to the own original; any other is
wrong, and so is every answer to a trap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ragctl.errors import UsageError
from ragctl.evaluate.questions import open_questions, parsed_line

if TYPE_CHECKING:
    from ragctl.records.vectors import Vector

THRESHOLDS: Final = (0.70, 0.75, 0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.96, 0.98)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionGroup:
    """A question, the same one in other words, and questions that only sound alike."""

    id: str
    original: str
    same: tuple[str, ...]
    traps: tuple[str, ...]

    @property
    def questions(self) -> tuple[str, ...]:
        """All of its questions, the original first."""
        return (self.original, *self.same, *self.traps)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFigures:
    """What a way of matching does: right hits of ``same`` asked, wrong ones of all asked.

    ``wrong_pairs`` are those: the question asked, and the one whose answer it got.
    """

    way: str
    threshold: float | None
    guarded: bool
    same: int
    asked: int
    right: int
    wrong_pairs: tuple[tuple[str, str], ...]


def read_groups(path: Path) -> list[QuestionGroup]:
    """Return the groups of a file, one JSON object a line.

    Raises :class:`~ragctl.errors.UsageError` naming file and line for what cannot be used.
    """
    groups = []
    for number, line in enumerate(open_questions(path).text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            groups.append(_group(parsed_line(line), number))
        except ValueError as error:
            raise UsageError(
                f"{path}, line {number}: {error}",
                hint='A line is {"id": "1", "original": "...", "same": ["..."], "traps": ["..."]}.',
            ) from error
    if not groups:
        raise UsageError(f"{path} holds no questions", hint="Give groups, one JSON a line.")
    return groups


def _group(row: object, number: int) -> QuestionGroup:
    """Return a group; raises :class:`ValueError` for what is none."""
    if not isinstance(row, dict) or not isinstance(row.get("original"), str):
        raise ValueError("there is no original")
    texts = {name: row.get(name, []) for name in ("same", "traps")}
    for name, listed in texts.items():
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            raise ValueError(f"{name} is no list of questions")
    return QuestionGroup(
        id=str(row.get("id", number)),
        original=row["original"],
        same=tuple(texts["same"]),
        traps=tuple(texts["traps"]),
    )


def cache_figures(
    groups: Sequence[QuestionGroup],
    vectors: Mapping[str, Vector],
    *,
    normalised: Callable[[str], str],
    differs: Callable[[str, str], Sequence[str]],
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[CacheFigures]:
    """Return the figures of exact and normalised matches, then of each threshold, twice.

    First without, then with the guards of ``differs``.
    """
    figures = [
        _figures(groups, "exact", lambda asked, kept: float(asked == kept)),
        _figures(
            groups, "normalised", lambda asked, kept: float(normalised(asked) == normalised(kept))
        ),
    ]
    cosines = {
        (asked, kept.original): _cosine(vectors[asked], vectors[kept.original])
        for group in groups
        for asked in group.questions
        for kept in groups
    }
    for guarded in (False, True):
        for threshold in thresholds:

            def score(
                asked: str, kept: str, *, least: float = threshold, guards: bool = guarded
            ) -> float:
                cosine = cosines[asked, kept]
                passes = cosine >= least and not (guards and differs(kept, asked))
                return cosine if passes else 0.0

            figures.append(_figures(groups, "cosine", score, threshold=threshold, guarded=guarded))
    return figures


def _figures(
    groups: Sequence[QuestionGroup],
    way: str,
    score: Callable[[str, str], float],
    *,
    threshold: float | None = None,
    guarded: bool = False,
) -> CacheFigures:
    right, wrong = 0, []
    for group in groups:
        for asked in (*group.same, *group.traps):
            scores = [score(asked, kept.original) for kept in groups]
            best = groups[scores.index(max(scores))]
            if max(scores) <= 0:
                continue
            if best is group and asked in group.same:
                right += 1
            else:
                wrong.append((asked, best.original))
    return CacheFigures(
        way=way,
        threshold=threshold,
        guarded=guarded,
        same=sum(len(group.same) for group in groups),
        asked=sum(len(group.same) + len(group.traps) for group in groups),
        right=right,
        wrong_pairs=tuple(wrong),
    )


def _cosine(one: Vector, other: Vector) -> float:
    product = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return product / math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
