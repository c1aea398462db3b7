"""A passage taken apart into sentences, list items, table rows and code lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from ragctl.stages.borders import split_sentences
from ragctl.stages.claims.words import (
    Clause,
    clauses_of,
    forms_of,
    keys_of,
    plain_text,
    squash,
    values_in,
    words_of,
)

if TYPE_CHECKING:
    from ragctl.records.search import Hit

FENCE: Final = re.compile(r"^\s{0,3}(?:```|~~~)")
ITEM: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTE: Final = re.compile(r"^\s{0,3}>\s?")
HEADING: Final = re.compile(r"^\s{0,3}#{1,6}\s")


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, table row or code line of a passage."""

    text: str
    clauses: tuple[Clause, ...]
    words: tuple[str, ...]
    stems: frozenset[str]

    @property
    def numbers(self) -> frozenset[float | str]:
        """The values of its numbers."""
        return values_in(self.text)

    @property
    def forms(self) -> frozenset[str]:
        """Its names and words in joined form."""
        return forms_of(self.text)


NO_UNIT: Final = Unit("", (), (), frozenset())


_COMMAS_OF_A_LIST: Final = 3
"""Fewer part clauses as often as they part the things in a list."""


@dataclass(frozen=True)
class Passage:
    """A passage taken apart; ``where`` gives the places of each key of a word among ``units``.

    ``label`` is its title, section and address, ``known`` the keys of their words.
    """

    n: int
    units: tuple[Unit, ...]
    label: str
    known: frozenset[str]
    where: Mapping[str, tuple[int, ...]]
    squashed: str

    @cached_property
    def numbers(self) -> frozenset[float | str]:
        """The values of its numbers."""
        return frozenset().union(*(unit.numbers for unit in self.units), values_in(self.label))

    @cached_property
    def counts(self) -> frozenset[float | str]:
        """How many things it lists: items in a row, and parts between commas in one sentence."""
        found: set[float | str] = set()
        run = 0
        for unit in (*self.units, NO_UNIT):
            is_item = bool(ITEM.match(unit.text))
            if run and not is_item:
                found.add(float(run))
            run = run + 1 if is_item else 0
            commas = unit.text.count(",")
            if commas >= _COMMAS_OF_A_LIST:
                found.update((commas + 1.0, commas + 2.0))  # "a, b, c" and "a, b and c"
        return frozenset(found)

    @cached_property
    def forms(self) -> frozenset[str]:
        """Its names and words in joined form."""
        return frozenset().union(*(unit.forms for unit in self.units), forms_of(self.label))


def _pieces(body: str) -> Iterator[str]:
    """Yield sentences, list items, table rows and code lines of a passage."""
    paragraph: list[str] = []

    def sentences() -> Iterator[str]:
        yield from split_sentences(" ".join(paragraph))
        paragraph.clear()

    in_code = False
    for line in body.split("\n"):
        line = _QUOTE.sub("", line)
        fence = bool(FENCE.match(line))
        if fence or in_code or not line.strip() or line.lstrip().startswith("|"):
            yield from sentences()
            in_code ^= fence
            if line.strip() and not fence:
                yield line
            continue
        if ITEM.match(line) or HEADING.match(line):
            yield from sentences()
        paragraph.append(line.strip())
        if HEADING.match(line):
            yield from sentences()
    yield from sentences()


@lru_cache(maxsize=1024)
def _unit(text: str) -> Unit:
    plain = plain_text(text)
    clauses = clauses_of(plain)
    words = tuple(chain.from_iterable(clauses))
    return Unit(text=plain, clauses=clauses, words=words, stems=frozenset(words))


def read_passage(hit: Hit) -> Passage:
    """Take a passage apart and index its words by place."""
    units = tuple(_unit(piece) for piece in _pieces(hit.body))
    label = f"{hit.title} {hit.section or ''} {hit.url.replace('/', ' ')}"
    where: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        for word in unit.stems:
            for key in keys_of(word):
                places = where.setdefault(key, [])
                if not places or places[-1] != place:
                    places.append(place)
    return Passage(
        n=hit.n,
        units=units,
        label=label,
        known=frozenset(key for word in words_of(label) for key in keys_of(word)),
        where={key: tuple(places) for key, places in where.items()},
        squashed=f"{squash(plain_text(hit.body))} {squash(hit.body + label)}",
    )


def merged_passages(passages: Sequence[Passage]) -> Passage:
    """Return several passages as one, for a statement that cites them together."""
    where: dict[str, tuple[int, ...]] = {}
    start = 0
    for passage in passages:
        for key, places in passage.where.items():
            where[key] = (*where.get(key, ()), *(place + start for place in places))
        start += len(passage.units)
    return Passage(
        n=passages[0].n,
        units=tuple(unit for passage in passages for unit in passage.units),
        label=" ".join(passage.label for passage in passages),
        known=frozenset().union(*(passage.known for passage in passages)),
        where=where,
        squashed=" ".join(passage.squashed for passage in passages),
    )
