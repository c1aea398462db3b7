"""The structured chunker: passages that follow sections, and keep whole what is read as a whole.

What it promises of every page: a passage lies in one section, or in several tiny ones of one
parent under the label of the first; no listing is left open and no table row without its header;
indentation stays to the byte; a heading stays with what follows it, an introduction with the
first lines of what it introduces; nothing overlaps and nothing is left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ragctl.errors import SettingsError
from ragctl.records.chunks import Chunk
from ragctl.stages.chunk.atoms import Room, atoms
from ragctl.stages.chunk.blocks import Leaf, leaves
from ragctl.stages.chunk.labels import HeadingIndex
from ragctl.stages.chunk.packing import pack
from ragctl.stages.chunk.tokens import TOKEN_COUNTER, estimated_tokens, fitting_end, within

if TYPE_CHECKING:
    from ragctl.records.pages import Heading, Page

RULES_VERSION: Final = 2
"""Goes up when the same page gives other passages."""

DEFAULT_SIZE: Final = 1300
"""Of 600, 800, 1000, 1200, 1300 and 1600 characters the first at which the five passages found for
64 questions on a technical site of 97 pages held all facts asked for most often (.89), with the
page among them as often as at every other size (.98); larger ones gain nothing, for the bound of
tokens cuts most of them first, and leave stubs behind."""
DEFAULT_HARD_TOKENS: Final = 480
_HARD_TOKENS_MIN: Final = 64
_RESERVED_TOKENS: Final = 4
"""Two that an encoder puts around a text, two for the seams of what is put together here."""
_SEPARATOR: Final = " > "


@dataclass(frozen=True, slots=True)
class _Passage:
    start: int
    end: int
    place: int
    """Where the heading that it is labelled with is in force."""
    opening: str = ""
    closing: str = ""
    is_whole: bool = False
    """Whether it holds all of one stretch."""


class StructuredChunker:
    """Cuts pages along sections, blocks, items and sentences, in this order.

    ``size`` is the wanted length of a passage in characters, fences and table headers that are
    repeated included; only a heading or an introduction with the first lines behind it may
    exceed it. Sections shorter than ``small`` characters may share a passage: none, unless that is
    given, so that every section can be linked. ``hard_tokens`` bounds what is embedded,
    breadcrumb included, by the counter ``estimate/1``.
    """

    def __init__(
        self,
        size: int = DEFAULT_SIZE,
        *,
        small: int = 0,
        hard_tokens: int = DEFAULT_HARD_TOKENS,
    ) -> None:
        """Raises :class:`~ragctl.errors.SettingsError` where no passage could be made."""
        if size < 1 or small < 0 or hard_tokens < _HARD_TOKENS_MIN:
            raise SettingsError(
                f"passage size {size}, small {small}, hard_tokens {hard_tokens} cannot work",
                hint="size must be at least 1, small at least 0 and hard_tokens at least "
                f"{_HARD_TOKENS_MIN}",
            )
        self._size = size
        self._small = small
        self._hard_tokens = hard_tokens

    @property
    def name(self) -> str:
        """``structured``."""
        return "structured"

    @property
    def parameters(self) -> Mapping[str, int | str]:
        """Sizes in characters and tokens, the token counter and the version of the rules."""
        return {
            "size": self._size,
            "small": self._small,
            "hard_tokens": self._hard_tokens,
            "counter": TOKEN_COUNTER,
            "rules": RULES_VERSION,
        }

    def chunk(self, page: Page) -> tuple[Chunk, ...]:
        """Return the passages of ``page`` in order, counted from 0, without overlap.

        ``start_char`` is where a passage's slice of the text starts, indentation included; its
        section is the heading in force there, and where it starts with a heading, the last of
        those that stand on top of its text.
        """
        outline = _Outline(page, self._hard_tokens // 4)
        passages: list[_Passage] = []
        for stretch in self._stretches(page):
            made = list(self._passages(page.text, stretch, outline))
            if passages and self._joined(page.text, passages[-1], made, outline):
                before = passages.pop()
                made = [_Passage(before.start, made[0].end, before.start, is_whole=True)]
            passages.extend(made)
        return tuple(
            _chunk(page, position, passage, outline) for position, passage in enumerate(passages)
        )

    def _stretches(self, page: Page) -> Iterator[list[Leaf]]:
        """Yield the leaves of each section, headings without text with their first subsection.

        A listing that nobody closed ends a stretch, for it is closed at the end of a passage.
        """
        starts = [heading.start_char for heading in page.headings]
        is_markup = not page.source_path.lower().endswith(".mdx")
        levels = {heading.start_char: heading.level for heading in page.headings}
        stretch: list[Leaf] = []
        for leaf in leaves(page.text, starts, indented_code=is_markup):
            if stretch and (
                not stretch[-1].is_closed
                or (leaf.kind == "heading" and not _is_below(stretch[-1], leaf, levels))
            ):
                yield stretch
                stretch = []
            stretch.append(leaf)
        if stretch:
            yield stretch

    def _passages(
        self, text: str, stretch: Sequence[Leaf], outline: _Outline
    ) -> Iterator[_Passage]:
        start, end = stretch[0].start, stretch[-1].end
        top = _top_headings(stretch)
        room = self._room(start, end, outline)
        closing = "" if stretch[-1].is_closed else "\n" + stretch[-1].closing
        whole = text[start:end] + closing
        if len(whole) <= room.characters and within(whole, room.tokens):
            yield _Passage(start, end, top[-1], closing=closing, is_whole=not closing)
            return
        made = atoms(text, stretch, room)
        for first, last in pack(made, room):
            begin, finish = made[first], made[last - 1]
            if not text[begin.start : finish.end].strip():
                continue  # a part of a line of blanks: nothing that can be read or embedded
            place = begin.start
            if place == start:
                place = max(at for at in top if at < finish.end)
            yield _Passage(begin.start, finish.end, place, begin.opening, finish.closing)

    def _room(self, start: int, end: int, outline: _Outline) -> Room:
        reserved = outline.breadcrumb_tokens(start, end) + _RESERVED_TOKENS
        return Room(self._size, self._hard_tokens - reserved)

    def _joined(self, text: str, before: _Passage, made: list[_Passage], outline: _Outline) -> bool:
        """Whether a small section goes into the passage of the small one before it.

        Only where the page's outline holds both under the parent of the earlier: a section joins
        its parent or its elder siblings, never another branch. The passage bears the earlier
        label, which is the heading in force where it starts.
        """
        if len(made) > 1 or not (before.is_whole and made[0].is_whole):
            return False
        lengths = (before.end - before.start, made[0].end - made[0].start)
        if max(lengths) >= self._small or not outline.are_kin(before.start, made[0].start):
            return False
        start, end = before.start, made[0].end
        room = self._room(start, end, outline)
        return end - start <= room.characters and (estimated_tokens(text[start:end]) <= room.tokens)


def _top_headings(stretch: Sequence[Leaf]) -> list[int]:
    """Return where the headings on top of a stretch start, or where it starts itself."""
    top = takewhile(lambda leaf: leaf.kind == "heading", stretch)
    return [leaf.start for leaf in top] or [stretch[0].start]


def _is_below(before: Leaf, heading: Leaf, levels: Mapping[int, int]) -> bool:
    """Whether a heading stands directly under another that has no text of its own."""
    return before.kind == "heading" and levels[before.start] < levels[heading.start]


def _chunk(page: Page, position: int, passage: _Passage, outline: _Outline) -> Chunk:
    heading = outline.heading_at(passage.place)
    slice_ = page.text[passage.start : passage.end]
    return Chunk(
        url=page.url,
        track=page.track,
        position=position,
        ref=f"{page.url}#c{passage.start}",
        section=heading.label if heading else None,
        anchor=(heading.anchor or None) if heading else None,
        breadcrumb=outline.breadcrumb(passage.place),
        start_char=passage.start,
        end_char=passage.end,
        body=f"{passage.opening}{slice_}{passage.closing}",
    )


class _Outline:
    """The tree of a page's headings, and the breadcrumb of every place."""

    def __init__(self, page: Page, breadcrumb_tokens: int) -> None:
        self._index = HeadingIndex(page.headings)
        self._starts = [heading.start_char for heading in page.headings]
        self._headings = page.headings
        self._tokens = breadcrumb_tokens
        self._title = " ".join(page.title.split())
        self._parents = _parents(page.headings)
        self._known: dict[int, tuple[str, int]] = {}

    def heading_at(self, offset: int) -> Heading | None:
        """Return the heading in force."""
        return self._index.at(offset)

    def breadcrumb(self, offset: int) -> str:
        """Return the path of headings to a place, the page's title first."""
        return self._breadcrumb(self._number(offset))[0]

    def breadcrumb_tokens(self, start: int, end: int) -> int:
        """Return the tokens of the longest breadcrumb of any place between two."""
        last = bisect_left(self._starts, end)
        numbers = range(self._number(start), max(last, self._number(start) + 1))
        return max(self._breadcrumb(number)[1] for number in numbers)

    def are_kin(self, earlier: int, later: int) -> bool:
        """Whether the later place lies under the parent of the earlier one's heading."""
        first, number = self._number(earlier), self._number(later)
        parent = self._parents[first] if first >= 0 else -1
        while number > parent and number >= 0:
            number = self._parents[number]
        return number == parent

    def _number(self, offset: int) -> int:
        """Return the place of the heading in force among the headings, -1 for none."""
        return bisect_left(self._starts, offset + 1) - 1

    def _breadcrumb(self, number: int) -> tuple[str, int]:
        if number not in self._known:
            labels: list[str] = []
            at = number
            while at >= 0:
                labels.append(self._headings[at].label)
                at = self._parents[at]
            if not labels or labels[-1].casefold() != self._title.casefold():
                labels.append(self._title)
            text = _bounded([label for label in reversed(labels) if label], self._tokens)
            self._known[number] = (text, estimated_tokens(text))
        return self._known[number]


def _parents(headings: Sequence[Heading]) -> list[int]:
    """Return for each heading the place of the nearest one above it with a lower level, or -1."""
    parents: list[int] = []
    path: list[int] = []
    for number, heading in enumerate(headings):
        while path and headings[path[-1]].level >= heading.level:
            path.pop()
        parents.append(path[-1] if path else -1)
        path.append(number)
    return parents


def _bounded(labels: list[str], tokens: int) -> str:
    """Join labels; where that is too long, the first and the last, each cut to its share."""
    whole = _SEPARATOR.join(labels)
    if estimated_tokens(whole) <= tokens:
        return whole
    ends = labels[:1] + labels[1:][-1:]
    share = (tokens - 1) // len(ends) - 1
    short = []
    for label in ends:
        end = fitting_end(label, 0, len(label), share)
        short.append(label if end == len(label) else label[:end].rstrip() + "…")
    return _SEPARATOR.join(short)
