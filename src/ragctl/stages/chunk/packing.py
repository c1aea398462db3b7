"""Packing atoms into passages: as few as the size allows, of about equal length, cut well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import ceil
from typing import Final

from ragctl.stages.chunk.atoms import GLUED, Atom, Room
from ragctl.stages.chunk.tokens import BLANKS_PER_TOKEN, estimated_tokens

_DISTANCE_WEIGHT: Final = 4.0
_FULL_ENOUGH: Final = 0.3
_CRUMB: Final = 0.15
"""The share of the size below which a rest is not left over, unless there is no other cut."""
_TORN_WORD_TOKENS: Final = 8
"""What a word may count for more in one piece than in two: its tail is counted by the letter."""
_CRUMB_ROOM: Final = 0.1
"""What share of the size a passage may be longer so that a crumb is not a passage of its own."""


def pack(atoms: Sequence[Atom], room: Room) -> Iterator[tuple[int, int]]:
    """Yield ranges of atoms, end exclusive, that make a passage each.

    What a passage repeats counts. ``room.characters`` gives way where a heading or an
    introduction would be parted from what follows it, ``room.tokens`` never does. Time grows
    with the number of atoms: each passage takes at least a part of those it looks at.
    """
    packer = _Packer(atoms, room)
    first = 0
    while first < len(atoms):
        end = packer.end(first)
        yield first, end
        first = end


class _Packer:
    def __init__(self, atoms: Sequence[Atom], room: Room) -> None:
        self._atoms = atoms
        self._room = room
        self._before = list(accumulate(_joining_tokens(atoms), initial=0))
        self._costs: dict[str, int] = {"": 0}
        self._crumb = _CRUMB * room.characters
        self._next_cut = _next_cuts(atoms)

    def _cost(self, repeated: str) -> int:
        if repeated not in self._costs:
            self._costs[repeated] = estimated_tokens(repeated)
        return self._costs[repeated]

    def _characters(self, first: int, end: int) -> int:
        opened, closed = self._atoms[first], self._atoms[end - 1]
        return len(opened.opening) + closed.end - opened.start + len(closed.closing)

    def _tokens(self, first: int, end: int) -> int:
        repeated = self._cost(self._atoms[first].opening)
        repeated += self._cost(self._atoms[end - 1].closing)
        return self._before[end] - self._before[first] + repeated

    def end(self, first: int) -> int:
        """Return where a passage ends that begins with atom ``first``."""
        count = len(self._atoms)
        if self._fits(first, count):
            return count
        goal = self._goal(first)
        best, best_score, last_allowed = 0, float("-inf"), 0
        end = first + 1
        while end < count and self._fits(first, end):
            quality = self._atoms[end].quality
            if quality != GLUED:
                last_allowed = end
                filled = self._atoms[end - 1].end - self._atoms[first].start
                score = quality - _DISTANCE_WEIGHT * abs(filled - goal) / self._room.characters
                is_fair = filled >= _FULL_ENOUGH * goal and not self._strands(end)
                if is_fair and score >= best_score:
                    best, best_score = end, score
            end += 1
        chosen = best or last_allowed
        if not chosen:
            return self._stretched(first, end)
        return chosen if best else self._with_crumb(first, chosen, end)

    def _with_crumb(self, first: int, chosen: int, beyond: int) -> int:
        """Return a cut a little beyond the size where ``chosen`` would leave next to nothing.

        That is between a few words and a listing or table that almost fills a passage.
        """
        filled = self._atoms[chosen - 1].end - self._atoms[first].start
        if filled >= self._crumb and not self._strands(chosen):
            return chosen
        count = len(self._atoms)
        longest = (1 + _CRUMB_ROOM) * self._room.characters
        while self._characters(first, beyond) <= longest and (
            self._tokens(first, beyond) <= self._room.tokens
        ):
            if beyond == count or self._atoms[beyond].quality != GLUED:
                return beyond
            beyond += 1
        return chosen

    def _strands(self, first: int) -> bool:
        """Whether a cut leaves a crumb that cannot be joined to what follows it."""
        atoms = self._atoms
        if atoms[-1].end - atoms[first].start < self._crumb:
            return True
        second = self._next_cut[first]
        if second == len(atoms) or atoms[second - 1].end - atoms[first].start >= self._crumb:
            return False
        return not self._fits(first, self._next_cut[second])

    def _fits(self, first: int, end: int) -> bool:
        return (
            self._characters(first, end) <= self._room.characters
            and self._tokens(first, end) <= self._room.tokens
        )

    def _goal(self, first: int) -> float:
        characters = self._atoms[-1].end - self._atoms[first].start
        tokens = self._before[-1] - self._before[first]
        passages = max(
            ceil(characters / self._room.characters), ceil(tokens / self._room.tokens), 1
        )
        return characters / passages

    def _stretched(self, first: int, end: int) -> int:
        """Return the first place for a cut beyond the size, or the last within the tokens."""
        count = len(self._atoms)
        end = max(first + 1, end)
        while self._tokens(first, end) <= self._room.tokens:
            if end == count or self._atoms[end].quality != GLUED:
                return end
            end += 1
        return max(first + 1, end - 1)


def _joining_tokens(atoms: Sequence[Atom]) -> Iterator[int]:
    """Yield what each atom adds to a passage that holds the one before it."""
    end = -1
    for atom in atoms:
        gap = atom.start - end if end >= 0 else 0
        torn = _TORN_WORD_TOKENS if end == atom.start else 0
        yield atom.tokens + torn + gap // BLANKS_PER_TOKEN
        end = atom.end


def _next_cuts(atoms: Sequence[Atom]) -> list[int]:
    """Return for each atom the next one with a cut in front, or the number of atoms."""
    following = [len(atoms)] * len(atoms)
    for number in range(len(atoms) - 2, -1, -1):
        is_cut = atoms[number + 1].quality != GLUED
        following[number] = number + 1 if is_cut else following[number + 1]
    return following
