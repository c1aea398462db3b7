"""Which units answer a question: the most of it, from the best passages, without repetition.

Greedy by maximal marginal relevance (Carbonell and Goldstein 1998): what a unit is worth, its
terms counted less where a chosen unit has them, less its likeness to what is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ragctl.stages.extract.cues import Wanted
from ragctl.stages.extract.listing import part_of
from ragctl.stages.extract.terms import Terms
from ragctl.stages.extract.units import Unit, points_away
from ragctl.stages.sentences import stems

if TYPE_CHECKING:
    from ragctl.records.search import Hit

MOST_ROWS: Final = 4
MOST_CANDIDATES: Final = 120
"""Units beyond the best so many by themselves are not weighed against each other."""

NEAR: Final = 0.35
"""What a term counts that stands in the title, the section or the unit before only."""
ANNOUNCED: Final = 0.6
"""What a term counts that stands in what announces a unit, or in what it refers to."""
COVERED: Final = 0.85
COVERED_OF_SEVERAL: Final = 0.5
"""What a term counts that a chosen unit has."""
RANK: Final = 0.35
LATER_PASSAGE: Final = 0.4
LATER_OF_SEVERAL: Final = 0.1
BEGINNING: Final = 0.06
SIDE_BY_SIDE: Final = 0.05
BESIDE: Final = 0.08
ALIKE: Final = 0.2
REPEATS: Final = 0.8
LENGTH: Final = 0.3
LEANS: Final = 0.12
POINTS_AWAY: Final = 0.12
LEAST_OF_BEST: Final = 0.45
LEAST_BESIDE: Final = 0.35
LEAST_ROW: Final = 0.55
LEAST_CODE: Final = 0.5
LEAST_CODE_UNASKED: Final = 0.75
"""Shares of the best unit's worth below which nothing is quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A unit with what it has of the question; ``fixed`` is what no other unit changes."""

    unit: Unit
    held: Mapping[str, float]
    own: float
    near: float
    fixed: float

    @property
    def worth(self) -> float:
        """What the unit is worth by itself."""
        return self.own + self.fixed


@dataclass(slots=True)
class _Choice:
    """What is chosen so far, with the terms it has."""

    terms: Terms
    repeated: float
    units: dict[tuple[int, int], Unit] = field(default_factory=dict)
    covered: set[str] = field(default_factory=set)

    def take(self, closure: Sequence[Unit]) -> None:
        for unit in closure:
            self.units[unit.passage, unit.position] = unit
            self.covered |= self.terms.held(unit).keys()

    def worth(self, scored: Scored) -> float:
        unit = scored.unit
        lost = {term: worth for term, worth in scored.held.items() if term in self.covered}
        value = scored.worth - (1 - self.repeated) * self.terms.share(lost)
        beside = self.is_beside(unit)
        alike = max((likeness(unit, other) for other in self.units.values()), default=0.0)
        return value + BESIDE * beside - ALIKE * alike

    def is_beside(self, unit: Unit) -> bool:
        return any((unit.passage, unit.position + step) in self.units for step in (-1, 1))

    def repeats(self, unit: Unit) -> bool:
        return any(likeness(unit, other) >= REPEATS for other in self.units.values())


def likeness(one: Unit, other: Unit) -> float:
    """Return the share of the shorter unit's stems that the other has too."""
    mine, theirs = frozenset(one.stems), frozenset(other.stems)
    return len(mine & theirs) / (min(len(mine), len(theirs)) or 1)


def chosen_units(
    question: str, passages: Sequence[Hit], pool: Sequence[Unit], *, words: int
) -> list[Unit]:
    """Return the units to quote in reading order: by passage, then by place.

    At most about ``words`` of prose, four rows of one table and one listing; each with what it
    needs to be understood. Empty where no unit has a term of the question.
    """
    terms = Terms.of(question, pool)
    wanted = Wanted.by(question)
    pool = [part_of(unit, terms) if unit.kind == "code" else unit for unit in pool]
    scored = _scored(passages, pool, terms, wanted)
    if not any(one.own for one in scored):
        return []
    by_place = {(unit.passage, unit.position): unit for unit in pool}
    choice = _Choice(terms=terms, repeated=COVERED_OF_SEVERAL if wanted.several else COVERED)
    best = max(one.worth for one in scored if one.own)
    _take_prose(choice, scored, by_place, words=words, best=best)
    _take_rows(choice, scored, by_place, best=best)
    _take_code(choice, scored, by_place, best=best, asked=wanted.code)
    return [unit for _place, unit in sorted(choice.units.items())]


def _scored(
    passages: Sequence[Hit], pool: Sequence[Unit], terms: Terms, wanted: Wanted
) -> list[Scored]:
    top = max(hit.score for hit in passages)
    labels = [terms.held_in(stems(f"{hit.title} {hit.section or ''}")) for hit in passages]
    later = LATER_OF_SEVERAL if wanted.several else LATER_PASSAGE
    ranks = [
        RANK * (max(hit.score, 0.0) / top if top > 0 else 1.0) - later * min(place, 3) / 3
        for place, hit in enumerate(passages)
    ]
    found = []
    held_by = {(unit.passage, unit.position): terms.held(unit) for unit in pool}
    for unit in pool:
        held = dict(held_by[unit.passage, unit.position])
        if unit.needs is not None:
            for term, worth in held_by[unit.passage, unit.needs].items():
                held[term] = max(held.get(term, 0.0), ANNOUNCED * worth)
        about = {**labels[unit.passage], **terms.held_in(unit.around)}
        near = terms.share({term: worth for term, worth in about.items() if term not in held})
        fixed = NEAR * near + ranks[unit.passage] + BEGINNING / (1 + unit.position)
        fixed += wanted.met_by(unit) * (0.5 + 0.5 * bool(held))
        fixed += SIDE_BY_SIDE * min(terms.side_by_side(unit), 3)
        fixed -= LENGTH * min(unit.words, 100) / 100
        fixed -= LEANS * (unit.leans and unit.needs is None) + POINTS_AWAY * (
            unit.announces or points_away(unit.text)
        )
        own = terms.share(held)
        found.append(Scored(unit=unit, held=held, own=own, near=near, fixed=fixed))
    return sorted(found, key=lambda one: -one.worth)[:MOST_CANDIDATES]


def _take_prose(
    choice: _Choice,
    scored: Sequence[Scored],
    by_place: Mapping[tuple[int, int], Unit],
    *,
    words: int,
    best: float,
) -> None:
    left = _quotable_prose(scored)
    room = words
    while left:
        next_best = max(left, key=choice.worth)
        beside = choice.is_beside(next_best.unit)
        if choice.worth(next_best) < (LEAST_BESIDE if beside else LEAST_OF_BEST) * best:
            left = [] if beside else [one for one in left if choice.is_beside(one.unit)]
            continue
        left.remove(next_best)
        closure = _with_needs(next_best.unit, by_place, choice)
        size = sum(unit.words for unit in closure)
        if (size > room and choice.units) or choice.repeats(next_best.unit):
            continue
        choice.take(closure)
        room -= size
        left = [one for one in left if (one.unit.passage, one.unit.position) not in choice.units]


def _quotable_prose(scored: Sequence[Scored]) -> list[Scored]:
    """Leave out what only announces something else, and what has nothing of the question."""
    needed = {(one.unit.passage, one.unit.needs) for one in scored}
    return [
        one
        for one in scored
        if one.unit.kind in ("sentence", "item")
        and (one.own or one.near)
        and not (one.unit.announces and (one.unit.passage, one.unit.position) in needed)
    ]


def _with_needs(
    unit: Unit, by_place: Mapping[tuple[int, int], Unit], choice: _Choice
) -> list[Unit]:
    """Return a unit and what it needs, three steps at most, but for what is chosen already."""
    found = [unit]
    while found[-1].needs is not None and len(found) < 4:
        place = (unit.passage, found[-1].needs)
        if place in choice.units:
            break
        found.append(by_place[place])
    return found


def _take_rows(
    choice: _Choice,
    scored: Sequence[Scored],
    by_place: Mapping[tuple[int, int], Unit],
    *,
    best: float,
) -> None:
    rows = [one for one in scored if one.unit.kind == "row" and one.own]
    if not rows or rows[0].worth < LEAST_ROW * best:
        return
    first = rows[0]
    table = (first.unit.passage, first.unit.group)
    same = [one for one in rows if (one.unit.passage, one.unit.group) == table]
    for one in same[:MOST_ROWS]:
        if one.own >= 0.6 * first.own:
            choice.take(_with_needs(one.unit, by_place, choice))


def _take_code(
    choice: _Choice,
    scored: Sequence[Scored],
    by_place: Mapping[tuple[int, int], Unit],
    *,
    best: float,
    asked: bool,
) -> None:
    listings = [one for one in scored if one.unit.kind == "code" and one.own]
    if not listings:
        return
    least = LEAST_CODE if asked else LEAST_CODE_UNASKED
    if listings[0].worth >= least * best:
        choice.take(_with_needs(listings[0].unit, by_place, choice))
