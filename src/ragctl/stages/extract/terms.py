"""How much of a question a unit has: its terms by idf, its names, terms that stand side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from ragctl.stages.claims.vocabulary import SYNONYMS
from ragctl.stages.names import name_keys, names_of
from ragctl.stages.sentences import stemmed, stems

if TYPE_CHECKING:
    from ragctl.stages.extract.units import Unit

SYNONYM: Final = 0.7
SAME_BEGINNING: Final = 0.3
_BEGINNING_CHARS: Final = 6
NAME_WEIGHT: Final = 2.0
"""A name of the question weighs as much as so many words that a single unit has."""


@lru_cache(maxsize=1)
def _groups() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for number, group in enumerate(SYNONYMS):
        for word in group.split():
            for stem in stems(word):
                found[stem] = (*found.get(stem, ()), number)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a question with their weights: stems, and exact names with a ``=`` before.

    ``runs`` are pairs of stems that stand side by side in the question.
    """

    weight: Mapping[str, float]
    total: float
    runs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, question: str, pool: Sequence[Unit]) -> Terms:
        """Weigh the terms by how few units hold them; those that none holds are left out."""
        ordered = stemmed(question, without_stopwords=True)
        names = {f"={name}" for name in name_keys(question)}
        asked = frozenset(ordered) | names
        bare = cls(weight=dict.fromkeys(asked, 1.0), total=1.0, runs=frozenset())
        frequency = Counter(term for unit in pool for term in bare.held(unit))
        weight = {term: math.log(1 + len(pool) / (0.5 + n)) for term, n in frequency.items()}
        for name in names & weight.keys():
            weight[name] *= NAME_WEIGHT
        runs = frozenset(pairwise(ordered))
        return cls(weight=weight, total=sum(weight.values()), runs=runs)

    def held(self, unit: Unit) -> dict[str, float]:
        """Return the terms that a unit has, each with how well: 1 for itself, less for kin."""
        found = self.held_in(frozenset(unit.stems))
        names = [term for term in self.weight if term.startswith("=")]
        if names:
            forms = names_of(unit.text).names
            found.update({name: 1.0 for name in names if name[1:] in forms})
        return found

    def held_in(self, words: frozenset[str]) -> dict[str, float]:
        """Return the terms among stems, each with how well; names are not looked for."""
        found: dict[str, float] = {}
        groups = {group for word in words for group in _groups().get(word, ())}
        beginnings = {word[:_BEGINNING_CHARS] for word in words if len(word) >= _BEGINNING_CHARS}
        for term in self.weight:
            if term in words:
                found[term] = 1.0
            elif any(group in groups for group in _groups().get(term, ())):
                found[term] = SYNONYM
            elif term[:_BEGINNING_CHARS] in beginnings:
                found[term] = SAME_BEGINNING
        return found

    def share(self, held: Mapping[str, float]) -> float:
        """Return the weighted share of the question that is held, 0 to 1."""
        return sum(self.weight[term] * worth for term, worth in held.items()) / (self.total or 1.0)

    def side_by_side(self, unit: Unit) -> int:
        """Return how many pairs of neighbours in the question are neighbours in a unit too."""
        return len(self.runs.intersection(pairwise(unit.stems)))
