"""What one passage has of a statement, and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ragctl.stages.claims.asked import Asked, has_name, is_in, is_topic
from ragctl.stages.claims.meaning import negated, opposed, swapped
from ragctl.stages.claims.passages import NO_UNIT, Passage, Unit
from ragctl.stages.claims.turns import turned
from ragctl.stages.claims.vocabulary import FREE_NUMBERS
from ragctl.stages.claims.words import common_words, keys_of, squash, worth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one passage has of a statement, and what it lacks.

    ``near`` and ``whole`` are the shares of the statement's words in the best few neighbouring
    sentences and in the whole passage, by weight; ``alike`` is that of the closest sentence, exact
    words only, with which ``swapped``, ``opposites`` and ``negation`` are found.
    """

    near: float
    whole: float
    numbers: tuple[str, ...] = ()
    far_numbers: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    far_names: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    opposites: tuple[str, ...] = ()
    negation: str = ""
    turned: tuple[str, str] = ("", "")
    alike: float = 0.0
    swapped: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of a statement's words one passage has, and between which of its sentences most.

    ``near`` and ``whole`` are those of :class:`Evidence`, ``lacking`` the words found nowhere.
    """

    near: float
    whole: float
    first: int = 0
    last: int = 0
    lacking: tuple[str, ...] = ()
    is_copied: bool = False


def cover(asked: Asked, passage: Passage, weights: Mapping[str, float]) -> Coverage:
    """Find the words of a statement in a passage; what is copied word for word is there."""
    if all(part in passage.squashed for part in asked.parts):
        return Coverage(near=1.0, whole=1.0, is_copied=True)
    total = sum(weights.values()) or 1.0
    places, everywhere, lacking, whole = _held(asked, passage, weights)
    first, last, near = _best_window(places)
    return Coverage(
        near=(everywhere + near) / total,
        whole=whole / total,
        first=first,
        last=last,
        lacking=tuple(lacking),
    )


def weigh(
    asked: Asked,
    passage: Passage,
    weights: Mapping[str, float],
    coverage: Coverage,
    *,
    passages: Sequence[Passage],
) -> Evidence:
    """Hold a statement against one of the passages, where its words are known to be."""
    if coverage.is_copied:
        return Evidence(near=1.0, whole=1.0)
    window = passage.units[coverage.first : coverage.last + 1]
    closest = max(window, key=lambda unit: _alike(asked, unit, weights), default=NO_UNIT)
    around = passage.units[max(0, coverage.first - 1) : coverage.last + 2]
    numbers, far_numbers = _numbers_lacking(asked, passage, around)
    names, far_names = _names_lacking(asked, passage, around)
    return Evidence(
        near=coverage.near,
        whole=coverage.whole,
        numbers=numbers,
        far_numbers=far_numbers,
        names=tuple(name for name in names if not is_topic(name, passages)),
        far_names=far_names,
        quotes=tuple(q for q in asked.quotes if squash(q) not in passage.squashed),
        opposites=opposed(asked, closest),
        negation=negated(asked, closest),
        turned=turned(
            asked.clauses,
            chain.from_iterable(unit.clauses for unit in window),
            elsewhere=chain.from_iterable(unit.clauses for unit in passage.units),
            weights=weights,
        ),
        alike=_alike(asked, closest, weights) / (sum(weights.values()) or 1.0),
        swapped=swapped(asked, closest, window),
        words=_spoken(asked, coverage, weights),
    )


def _spoken(asked: Asked, coverage: Coverage, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the words that a passage lacks as the statement has them, the rarest first."""
    rarest = sorted(coverage.lacking, key=lambda word: -weights[word])
    return tuple(asked.spoken.get(word, word) for word in rarest if word not in common_words())


def _names_lacking(
    asked: Asked, passage: Passage, around: Sequence[Unit]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that are not in the passage, and those not near its best sentences."""
    if not asked.names:
        return (), ()
    forms = frozenset().union(passage.known, *(unit.forms for unit in around))
    absent = [name for name in asked.names if not has_name(name, forms)]
    lacking = tuple(name for name in absent if not is_in(name, passage))
    return lacking, tuple(name for name in absent if name not in lacking)


def _held(
    asked: Asked, passage: Passage, weights: Mapping[str, float]
) -> tuple[list[dict[int, float]], float, list[str], float]:
    """Return where each word stands and what it is worth there.

    Then the worth of those that only the label has everywhere, the words found nowhere, and the
    sum of what is found.
    """
    places: list[dict[int, float]] = []
    lacking: list[str] = []
    everywhere = whole = 0.0
    for word in asked.content:
        weight = weights[word]
        least = _LABELLED * weight if word in passage.known else 0.0
        best = 0.0
        row: dict[int, float] = {}
        for key in reversed(keys_of(word)):  # the word itself comes last and counts most
            worth = worth_of(key)
            found = passage.where.get(key, ())
            if worth > best and (found or key in passage.known):
                best = worth
            for place in found:
                row[place] = max(row.get(place, 0.0), worth * weight - least)
        everywhere += least
        whole += best * weight
        places.append(row)
        if not best:
            lacking.append(word)
    return places, everywhere, lacking, whole


_LABELLED: Final = 0.8
"""What a word is worth that stands in the title, section or address only."""


def _alike(asked: Asked, unit: Unit, weights: Mapping[str, float]) -> float:
    return sum(weights[word] for word in asked.content if word in unit.stems)


def _best_window(places: Sequence[Mapping[int, float]]) -> tuple[int, int, float]:
    """Return the first and last place of the best one to three neighbours, and their worth.

    A longer window must be better by some margin, so that the closest is kept.
    """
    best = (0, 0, 0.0)
    for length in range(3):
        worths: dict[int, float] = {}
        for row in places:
            held: dict[int, float] = {}
            for place, worth in row.items():
                for start in range(max(0, place - length), place + 1):
                    if worth > held.get(start, 0.0):
                        held[start] = worth
            for start, worth in held.items():
                worths[start] = worths.get(start, 0.0) + worth
        first = min(worths, key=lambda start: (-worths[start], start), default=0)
        if worths.get(first, 0.0) > best[2] * (_LONGER_IS_BETTER if length else 1.0):
            best = (first, first + length, worths[first])
    return best


_LONGER_IS_BETTER: Final = 1.04


def _numbers_lacking(
    asked: Asked, passage: Passage, around: Sequence[Unit]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers that are not in the passage, and those not near its best sentences.

    A number in letters may count what the passage lists.
    """
    if not asked.numbers:
        return (), ()
    close = frozenset().union(*(unit.numbers for unit in around))
    lacking, far = [], []
    for written, values in asked.numbers.items():
        if written in FREE_NUMBERS or values <= {1.0}:
            continue
        if not values & passage.numbers:
            if not (written.isalpha() and values & passage.counts):
                lacking.append(written)
        elif not values & close:
            far.append(written)
    return tuple(lacking), tuple(far)
