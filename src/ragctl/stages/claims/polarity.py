"""Which words of a text are negated, and which of a pair of opposites it has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragctl.stages.claims.vocabulary import MILDER, NEGATIONS, OPPOSITES, listed
from ragctl.stages.claims.words import keys_of, stem, stopwords

_SCOPE: Final = 6


@lru_cache(maxsize=1)
def _milder() -> frozenset[str]:
    return frozenset(stem(word) for word in MILDER)


@lru_cache(maxsize=1)
def _sides() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    return tuple(
        (frozenset(map(stem, one.split())), frozenset(map(stem, other.split())))
        for one, other in OPPOSITES
    )


def sides_of(words: Sequence[str]) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return the opposites of which the words have one side only, that side first."""
    had = frozenset(words)
    pairs = dict.fromkeys(pair for word in dict.fromkeys(words) for pair in opposites_in(word))
    return tuple(pair for pair in pairs if pair[1].isdisjoint(had))


def same_in(word: str, known: frozenset[str]) -> bool:
    """Whether the keys of a text hold a word or a synonym of it."""
    return any(key in known for key in keys_of(word) if not key.endswith("…"))


@lru_cache(maxsize=8192)
def opposites_in(word: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return the pairs of opposites that a stem belongs to, its own side first."""
    return tuple(
        (one, other)
        for pair in _sides()
        for one, other in (pair, pair[::-1])
        if word in one and word not in other
    )


@dataclass(frozen=True, slots=True)
class Negation:
    """A negation in a clause: the first word of content after it, and all the words it covers."""

    first: str
    covers: frozenset[str]


@lru_cache(maxsize=2048)
def negations_in(clause: tuple[str, ...]) -> tuple[Negation, ...]:
    """Return the negations of a clause; ``unless`` is one, ``nor`` after another none of its own.

    A negation covers the six words after it.
    """
    found: list[Negation] = []
    for place, word in enumerate(clause):
        if clause[place + 1 : place + 2] in _NOT_ONLY:
            continue
        if word == "unless" or (word in NEGATIONS and not (word == "nor" and found)):
            covers = clause[place + 1 : place + 1 + _SCOPE]
            first = next((word for word in covers if word not in stopwords()), "")
            found.append(Negation(first, frozenset(covers)))
    return tuple(found)


_NOT_ONLY: Final = tuple((stem(word),) for word in listed("only just merely"))


def softens(words: Collection[str]) -> bool:
    """Whether words deny, if only by one such as ``only`` or ``unlike``."""
    return (
        not NEGATIONS.isdisjoint(words)
        or not _milder().isdisjoint(words)
        or "non" in words
        or any(word.startswith(("un", "dis")) and word not in _NOT_DENYING for word in words)
    )


_NOT_DENYING: Final = frozenset(
    listed(
        "under und until unit union uniqu universal uniform distribut disk display distanc discuss "
        "discover understand underly"
    )
)


def in_scope(words: Sequence[str]) -> frozenset[str]:
    """Return the words that a negation before them covers."""
    return frozenset(
        word
        for place, negation in enumerate(words)
        if negation in NEGATIONS
        for word in words[place + 1 : place + 1 + _SCOPE]
    )
