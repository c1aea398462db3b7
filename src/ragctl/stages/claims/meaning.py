"""Whether a statement says the opposite of its closest sentence, or swaps a name or number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragctl.stages.claims.asked import Asked, known_values
from ragctl.stages.claims.polarity import in_scope, same_in, softens
from ragctl.stages.claims.vocabulary import FREE_NUMBERS, NEGATIONS
from ragctl.stages.claims.words import code_names, joined, keys_of

if TYPE_CHECKING:
    from ragctl.stages.claims.passages import Unit


def opposed(asked: Asked, unit: Unit) -> tuple[str, ...]:
    """Return a pair of opposites of which the statement has one and its sentence the other."""
    if "than" in asked.words and "than" in unit.stems:
        return ()  # the sides may be exchanged as well: see turns
    mine, theirs = in_scope(asked.words), in_scope(unit.words)
    for here, there in asked.sides:
        if not there.isdisjoint(unit.stems) and here.isdisjoint(unit.stems):
            word, other = min(here.intersection(asked.words)), min(there & unit.stems)
            known = frozenset(key for stem in unit.stems for key in keys_of(stem))
            if (word in mine) == (other in theirs) and not same_in(word, known):
                return (asked.spoken.get(word, word), other)
    return ()


def negated(asked: Asked, unit: Unit) -> str:
    """Return ``statement`` or ``passage``: which of the two negates a word that both have."""
    shared = frozenset(asked.content) & unit.stems
    mine, theirs = in_scope(asked.words) & shared, in_scope(unit.words) & shared
    if mine and not (frozenset(unit.words) & NEGATIONS):
        return "statement"
    if len(theirs) >= _FEWEST_DENIED and not softens(asked.words):
        return "passage"
    if (mine or theirs) and not mine & theirs:
        return "both"
    return ""


_FEWEST_DENIED: Final = 2
"""Words that both have and that a negation must cover: one may be there for another reason."""


def swapped(asked: Asked, unit: Unit, window: Sequence[Unit]) -> tuple[str, ...]:
    """Return a name or number where the closest sentence, otherwise alike, has another one.

    It must not stand in the ``window`` of sentences either that the statement may put together.
    """
    near = frozenset(value for one in window for value in one.numbers)
    mine = {joined(name): name for name in asked.code}
    theirs = {joined(name): name for name in code_names(unit.text)}
    lacking = [name for form, name in mine.items() if form not in unit.forms]
    other = [name for form, name in theirs.items() if form not in asked.forms]
    if lacking and other:
        return lacking[0], min(other)
    known = known_values(asked)
    beyond = [
        written
        for written, values in asked.numbers.items()
        if not values & near and written not in FREE_NUMBERS
    ]
    others = sorted(unit.numbers - known - {0.0, 1.0}, key=str)
    if beyond and others:
        return beyond[0], f"{others[0]:g}" if isinstance(others[0], float) else others[0]
    return ()
