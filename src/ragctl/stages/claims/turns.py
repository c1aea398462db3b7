"""Whether a statement turns the meaning of its passage round, clause by clause.

Each clause of the statement is held against the clause of the passage most like it, and the turns
between the two are counted: a negation that only one of them has, a pair of opposites, a negating
prefix, the two sides of a comparison exchanged. Two turns undo each other ("A is less common than
B" for "B is more common than A"), so an odd number contradicts. After the natural logic of
MacCartney and Manning, "Natural Logic for Textual Inference" (2007), with words for edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final

from ragctl.stages.claims.polarity import negations_in, opposites_in, same_in, softens
from ragctl.stages.claims.roles import in_each_others_place
from ragctl.stages.claims.vocabulary import CONDITIONS, CONNECTIVES, JOINING, PREFIXES
from ragctl.stages.claims.words import Clause, keys_of, stopwords

LEAST_OF_THREE: Final = 0.6
LEAST_OF_TWO: Final = 0.8
LEAST_OF_ONE: Final = 0.9
"""Shares of a clause's words, by weight, that a clause of the passage must have to be compared
with it: where it has three words or more of it, two, or one beside an opposite."""
LEAST_THE_SAME: Final = 0.8
_AS_CLOSE: Final = 0.9
_MOST_CLAUSES: Final = 40
"""Of a statement, and of its passage: more are a listing, and comparing all would take long."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A clause of a passage beside one of a statement: what they share, and the turns between."""

    share: float
    shared: frozenset[str]
    theirs: Clause
    opposites: tuple[tuple[str, str], ...]
    turning: frozenset[str]
    negated: bool
    exchanged: bool

    @property
    def turns(self) -> int:
        return len(self.opposites) + self.negated + self.exchanged

    @property
    def is_turned(self) -> bool:
        return self.turns % 2 == 1


def turned(
    clauses: Sequence[Clause],
    near: Iterable[Clause],
    *,
    elsewhere: Iterable[Clause],
    weights: Mapping[str, float],
) -> tuple[str, str]:
    """Return what a statement says and what its passage says instead, empty where nothing is.

    The passage's clauses ``near`` the statement's words are compared; one ``elsewhere`` in it that
    is as close and not turned speaks for the statement. ``weights`` holds the statement's content
    words. For a negation, the first is ``not`` or the second is.
    """
    said = frozenset(word for clause in clauses for word in clause)
    close_by, others = tuple(near)[:_MOST_CLAUSES], tuple(elsewhere)[:_MOST_CLAUSES]
    for clause in clauses[:_MOST_CLAUSES]:
        closest = _closest(clause, close_by, weights, said)
        found = _turn(clause, closest, said)
        if found and _turn(clause, _closest(clause, others, weights, said), said):
            return found
    return ("", "")


def _closest(
    clause: Clause, passage: Sequence[Clause], weights: Mapping[str, float], said: frozenset[str]
) -> list[_Match]:
    """Return the clauses of a passage most like one of the statement, the most like first."""
    content = {word: weights[word] for word in clause if word in weights}
    compared = (_match(clause, other, content, said) for other in passage)
    matches = [match for match in compared if match is not None and _is_close(match)]
    best = max((match.share for match in matches), default=0.0)
    return sorted((m for m in matches if m.share >= best * _AS_CLOSE), key=lambda m: -m.share)


def _turn(
    clause: Clause, closest: Sequence[_Match], said: frozenset[str]
) -> tuple[str, str] | None:
    """Return the turn that all of the closest clauses have, or two words that changed places."""
    if not closest:
        return None
    if all(match.is_turned for match in closest):
        return _said(clause, closest[0], said)
    if closest[0].share >= LEAST_THE_SAME and not any(match.turns for match in closest):
        crossed = [in_each_others_place(clause, m.theirs, m.shared) for m in closest]
        if all(crossed) and crossed[0]:
            one, other = crossed[0]
            return f"{one} … {other}", f"{other} … {one}"
    return None


def _is_close(match: _Match) -> bool:
    """Whether two clauses speak of the same; a short one, where it shares a word and turns one."""
    if len(match.shared) < 2:
        return bool(match.shared and match.opposites) and match.share >= LEAST_OF_ONE
    return match.share >= (LEAST_OF_THREE if len(match.shared) >= 3 else LEAST_OF_TWO)


def _said(clause: Clause, match: _Match, said: frozenset[str]) -> tuple[str, str] | None:
    """Return the turn in words, nothing where a negation may be put otherwise on either side.

    The statement may put that of its passage into another of its clauses.
    """
    if match.negated:
        mine = _negates(clause, match.shared, match.turning)
        denying, other = (clause, match.theirs) if mine else (match.theirs, clause)
        if denying[0] in CONDITIONS and other[0] not in CONDITIONS:
            return None
        alone = frozenset(_beside_shared(other, match.shared) if mine else said)
        alone -= match.shared | CONNECTIVES
        if softens(alone) and not match.opposites:
            return None
        return ("not", "") if mine else ("", "not")
    if match.opposites:
        return match.opposites[0]
    return ("than", "than")


def _beside_shared(clause: Clause, shared: frozenset[str]) -> Iterator[str]:
    """Yield the words of those parts of a clause, joined by ``and``, that hold a shared one."""
    known = frozenset(key for word in shared for key in keys_of(word))
    for joining, part in groupby(clause, key=JOINING.__contains__):
        words = tuple(part)
        if not joining and not known.isdisjoint(_keys_in(words)):
            yield from words


def _match(
    mine: Clause, theirs: Clause, content: Mapping[str, float], said: frozenset[str]
) -> _Match | None:
    """Lay a clause of a passage beside one of a statement; nothing where they share no word."""
    known = _keys_in(theirs)
    alike = [word for word in content if not known.isdisjoint(keys_of(word))]
    if not alike:
        return None
    opposites = _opposites(mine, theirs, said)
    turning = frozenset(word for pair in opposites for word in pair)
    shared = frozenset(alike) - turning
    held = sum(weight for word, weight in content.items() if word in shared or word in turning)
    share = held / (sum(content.values()) or 1.0)
    return _Match(
        share=max(share, _share_told(mine, theirs, turning)),
        shared=shared,
        theirs=theirs,
        opposites=opposites,
        turning=turning,
        negated=_negates(mine, shared, turning) != _negates(theirs, shared, turning)
        and not (_denies_any(mine, shared) and _denies_any(theirs, shared)),
        exchanged=_exchanged(mine, theirs, shared),
    )


def _negates(clause: Clause, shared: frozenset[str], turning: frozenset[str]) -> bool:
    """Whether an odd number of negations bear on what both clauses say.

    Such a one stands before a shared word and covers another, or all that is left of a clause of
    which every word is shared; or it covers one that is turned.
    """
    negations = negations_in(clause)
    if not negations:
        return False
    is_shared = len(shared) > 1 and shared.issuperset(_told(clause))
    bearing = [
        not negation.covers.isdisjoint(turning)
        or (negation.first in shared and (is_shared or len(negation.covers & shared) > 1))
        for negation in negations
    ]
    return sum(bearing) % 2 == 1


def _denies_any(clause: Clause, shared: frozenset[str]) -> bool:
    return any(not negation.covers.isdisjoint(shared) for negation in negations_in(clause))


def _share_told(mine: Clause, theirs: Clause, turning: frozenset[str]) -> float:
    """Return how much of a passage's clause stands in the statement's, by number of words."""
    known = _keys_in(mine)
    told = _told(theirs)
    held = sum(word in turning or not known.isdisjoint(keys_of(word)) for word in told)
    return held / max(_FEWEST_TOLD, len(told))


_FEWEST_TOLD: Final = 3


@lru_cache(maxsize=2048)
def _told(clause: Clause) -> tuple[str, ...]:
    return tuple(word for word in dict.fromkeys(clause) if word not in stopwords())


@lru_cache(maxsize=2048)
def _keys_in(clause: Clause) -> frozenset[str]:
    return frozenset(key for word in clause for key in keys_of(word))


def _opposites(mine: Clause, theirs: Clause, said: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return each word of a clause whose opposite the other has, with that opposite.

    Left alone is a pair of which the statement has ``said`` both, and one whose two words have
    no word beside them in common: they speak of different things.
    """
    there = frozenset(theirs)
    turnable = [word for word in mine if not _against(word).isdisjoint(there)]
    if not turnable:
        return ()
    known, found = _keys_in(theirs), dict[str, str]()
    for word in turnable:
        if same_in(word, known):
            continue
        for one, other in opposites_in(word):
            if one.isdisjoint(there) and other.isdisjoint(said) and not other.isdisjoint(there):
                found[word] = min(other & there)
        prefixed = (_prefixed(word) & there) - said
        if prefixed and "non" not in said | there:
            found[word] = min(prefixed)
    return tuple(
        (word, other)
        for word, other in found.items()
        if not _keys_in(_beside(mine, word)).isdisjoint(_keys_in(_beside(theirs, other)))
    )


def _beside(clause: Clause, word: str) -> Clause:
    """Return the two words of content on each side of one."""
    told = [other for other in clause if other == word or other not in stopwords()]
    place = told.index(word)
    return tuple(told[max(0, place - 2) : place] + told[place + 1 : place + 3])


@lru_cache(maxsize=8192)
def _against(word: str) -> frozenset[str]:
    """Return all words that may be the opposite of one."""
    return _prefixed(word).union(*(other for _one, other in opposites_in(word)))


@lru_cache(maxsize=8192)
def _prefixed(word: str) -> frozenset[str]:
    """Return a word with each negating prefix, or without the one it has."""
    bare = {word[len(prefix) :] for prefix in PREFIXES if word.startswith(prefix)}
    bare = {stem for stem in bare if len(stem) >= _SHORTEST_STEM}
    longer = {prefix + word for prefix in PREFIXES} if len(word) >= _SHORTEST_STEM else set()
    return frozenset(bare | longer)


_SHORTEST_STEM: Final = 4


def _exchanged(mine: Clause, theirs: Clause, shared: frozenset[str]) -> bool:
    """Whether what stands before ``than`` in one clause stands after it in the other."""
    if "than" not in mine or "than" not in theirs:
        return False
    here, there = mine.index("than"), theirs.index("than")
    before, after = shared.intersection(mine[:here]), shared.intersection(mine[here:])
    earlier, later = shared.intersection(theirs[:there]), shared.intersection(theirs[there:])
    return bool((before & later) - after - earlier) and bool((after & earlier) - before - later)
