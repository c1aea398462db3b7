"""Two words that stand in each other's place: "from A to B" for "from B to A".

Found between a clause of the statement and one of the passage that have nearly the same words:
each of the two words must have the other's neighbours rather than its own. Words joined by ``and``
or ``or`` may stand in any order.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from ragctl.stages.claims.vocabulary import JOINING, PLACING
from ragctl.stages.claims.words import Clause, keys_of, stopwords

_REACH: Final = 2
_MOST_WORDS: Final = 16
"""Words of a clause that are compared in pairs; longer clauses are listings."""


def in_each_others_place(
    mine: Clause, theirs: Clause, shared: frozenset[str]
) -> tuple[str, str] | None:
    """Return two shared words, each where the other clause has the other one."""
    mine, theirs = _whole(mine), _whole(theirs)
    once = [w for w in dict.fromkeys(mine) if w in shared and mine.count(w) == theirs.count(w) == 1]
    if len(once) > _MOST_WORDS:
        return None
    here = {word: _neighbours(mine, word) for word in once}
    there = {word: _neighbours(theirs, word) for word in once}
    for one, other in combinations(once, 2):
        if _joined(mine, one, other) or _joined(theirs, one, other):
            continue
        if not frozenset(keys_of(one)).isdisjoint(keys_of(other)):
            continue  # synonyms may change places
        kept = [len(here[word] & there[word]) for word in (one, other)]
        crossed = [len(here[one] & there[other]), len(here[other] & there[one])]
        if crossed[0] > kept[0] and crossed[1] > kept[1] and sum(crossed) >= sum(kept) + _CLEARLY:
            return one, other
    return None


_CLEARLY: Final = 3


def _whole(clause: Clause) -> Clause:
    """Leave out the parts of a compound name that follows them."""
    return tuple(
        word
        for place, word in enumerate(clause)
        if not any(word in other and word != other for other in clause[place + 1 : place + 4])
    )


def _neighbours(clause: Clause, word: str) -> frozenset[tuple[int, str]]:
    """Return the words of content and the prepositions next to a word, each with its side."""
    place = clause.index(word)
    before = [w for w in clause[:place] if w not in stopwords() or w in PLACING][-_REACH:]
    after = [w for w in clause[place + 1 :] if w not in stopwords() or w in PLACING][:_REACH]
    return frozenset({(-1, w) for w in before} | {(1, w) for w in after})


def _joined(clause: Clause, one: str, other: str) -> bool:
    first, last = sorted((clause.index(one), clause.index(other)))
    between = clause[first + 1 : last]
    return len(between) <= _REACH + 1 and not JOINING.isdisjoint(between)
