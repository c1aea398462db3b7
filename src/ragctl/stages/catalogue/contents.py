"""What is on the site, as far as a table of contents knows it: tracks, pages, titles, headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ragctl.stages.catalogue.words import Words, contains, stems_of, word_set, words_of

if TYPE_CHECKING:
    from ragctl.records.stored import StoredPage

_NUMBERED: Final = re.compile(r"(\d{1,4})(?![\d.]|-\d\d-\d\d)[-_. ]*(.*)")
_DATED: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?!\d)[-_. ]*(.*)")
_TITLE_BREAK: Final = re.compile(r":\s|\s[-\u2013\u2014|]\s|\(")
# What a landing page's title says besides the name of its track.
_TITLE_FILLERS: Final = word_set(
    "about all and documentation doc for guide home in index introduction list navigation of on "
    "overview page site to welcome your"
)

_SMALL_WORDS: Final = word_set("with of for in on and to by from using")


@dataclass(frozen=True)
class Track:
    """A track: its landing page, where it has one, and its other pages in reading order."""

    name: str
    landing: StoredPage | None
    pages: tuple[StoredPage, ...]

    @property
    def label(self) -> str:
        """The name as a reader knows it: the landing page's title and the track's name."""
        title = self.landing.title if self.landing else ""
        if not title or words_of(title) == words_of(self.name):
            return title or self.name
        return f"{title} ({self.name})"

    @cached_property
    def phrases(self) -> frozenset[Words]:
        """The ways to call it: its name, and its landing page's title whole or to the colon."""
        titles = [self.name]
        if self.landing:
            titles += [self.landing.title, _TITLE_BREAK.split(self.landing.title)[0]]
        return frozenset(stems_of(words_of(title)) for title in titles) - {()}

    @cached_property
    def telling_words(self) -> Words:
        """The words of the landing page's title that can tell it from other tracks."""
        title = stems_of(words_of(self.landing.title)) if self.landing else ()
        return tuple(word for word in title if word not in _TITLE_FILLERS)

    def place_of(self, page: StoredPage) -> int | None:
        """Return the index of a page in reading order, ``None`` for one of another track."""
        urls = [one.url for one in self.pages]
        return urls.index(page.url) if page.url in urls else None

    @cached_property
    def by_number(self) -> dict[int, StoredPage]:
        """The pages by the number their readers know: of all names, else the place in order."""
        numbers = [number_in_name(page) for page in self.pages]
        known = [number for number in numbers if number is not None]
        if len(set(known)) < len(self.pages):
            known = list(range(1, len(self.pages) + 1))
        return dict(zip(known, self.pages, strict=True))


@dataclass(frozen=True)
class Catalogue:
    """The tracks of a site.

    ``headings`` returns addresses with a heading each, as :func:`headings_of` makes them; it is
    called only for a question about a topic.
    """

    tracks: tuple[Track, ...]
    headings: Callable[[], Sequence[tuple[str, str]]]

    @classmethod
    def of(
        cls,
        pages: Sequence[StoredPage],
        *,
        headings: Callable[[], Sequence[tuple[str, str]]] = tuple,
        tracks: Sequence[str] = (),
    ) -> Catalogue:
        """Return the catalogue of pages given in reading order, of some tracks or of all."""
        grouped: dict[str, list[StoredPage]] = {}
        for page in pages:
            if not tracks or page.track in tracks:
                grouped.setdefault(page.track, []).append(page)
        return cls(
            tracks=tuple(_track(name, found) for name, found in grouped.items()),
            headings=headings,
        )

    @cached_property
    def _names(self) -> dict[str, frozenset[Words]]:
        return {page.url: names_of(page) for page in self.pages}

    @cached_property
    def pages(self) -> tuple[StoredPage, ...]:
        """All pages but landing pages, in reading order."""
        return tuple(page for track in self.tracks for page in track.pages)

    def track_of(self, page: StoredPage) -> Track:
        """Return the track that a page lies in."""
        return next(track for track in self.tracks if track.name == page.track)

    def track_called(self, phrase: Words, *, loosely: bool = False) -> Track | None:
        """Return the one track of this name or title; ``loosely``, also of a part of the title."""
        wanted = stems_of(phrase)
        found = [track for track in self.tracks if wanted in track.phrases]
        if not found and loosely:
            found = [track for track in self.tracks if contains(track.telling_words, wanted)]
        return found[0] if len(found) == 1 else None

    def track_within(self, phrase: Words) -> Track | None:
        """Return the one track whose name or title is part of a phrase."""
        wanted = stems_of(phrase)
        found = [t for t in self.tracks if any(contains(wanted, name) for name in t.phrases)]
        return found[0] if len(found) == 1 else None

    def page_called(
        self, phrase: Words, *, scope: Track | None, strictly: bool = False
    ) -> StoredPage | None:
        """Return the one page that a phrase names.

        In this order: a title, an address or a file's name; unless ``strictly``, words side by
        side in one title; words of one title in any order. What fits two pages names none.
        """
        pages = scope.pages if scope else self.pages
        wanted = stems_of(phrase)
        if not wanted:
            return None
        known = [(page, self._names[page.url]) for page in pages]
        found = [page for page, names in known if wanted in names]
        if not found and not strictly:
            found = [page for page, names in known if any(contains(n, wanted) for n in names)]
        if not found and not strictly:
            wanted = tuple(word for word in wanted if word not in _SMALL_WORDS) or wanted
            found = [page for page, names in known if set(wanted) <= set().union(*names)]
        return found[0] if len(found) == 1 else None

    def page_numbered(self, number: int, *, scope: Track | None) -> StoredPage | None:
        """Return the page of this number, of a track or of a site with one track."""
        if scope is None and len(self.tracks) == 1:
            scope = self.tracks[0]
        return scope.by_number.get(number) if scope else None

    def titled(self, topic: Words, *, scope: Track | None) -> list[StoredPage]:
        """Return the pages with these words in their title, in reading order."""
        wanted = stems_of(topic)
        pages = scope.pages if scope else self.pages
        return [page for page in pages if contains(stems_of(words_of(page.title)), wanted)]

    def titled_loosely(self, topic: Words, *, scope: Track | None) -> list[StoredPage]:
        """Return the pages with all of these words in their title, in any order."""
        wanted = set(stems_of(topic))
        pages = scope.pages if scope else self.pages
        return [page for page in pages if wanted <= set(stems_of(words_of(page.title)))]

    def headed(self, topic: Words, *, scope: Track | None) -> list[tuple[StoredPage, str]]:
        """Return the pages with these words in a heading, and the first such heading."""
        wanted = stems_of(topic)
        labels: dict[str, str] = {}
        for url, label in self.headings():
            if contains(stems_of(words_of(label)), wanted):
                labels.setdefault(url, label)
        pages = scope.pages if scope else self.pages
        return [(page, labels[page.url]) for page in pages if page.url in labels]


def _track(name: str, pages: Sequence[StoredPage]) -> Track:
    landings = sorted((page for page in pages if page.is_landing), key=lambda page: len(page.url))
    return Track(
        name=name,
        landing=landings[0] if landings else None,
        pages=tuple(page for page in pages if not page.is_landing),
    )


def names_of(page: StoredPage) -> frozenset[Words]:
    """Return the ways to name a page: title, its parts, address, and file name."""
    return frozenset(stems_of(words_of(name)) for name in _names(page)) - {()}


def _names(page: StoredPage) -> Iterator[str]:
    yield page.title
    yield from _TITLE_BREAK.split(page.title)[:1]
    yield re.sub(r"\(.*?\)", " ", page.title)
    yield page.url
    yield page.source_path
    slug = _slug(page)
    yield slug
    for pattern in (_DATED, _NUMBERED):
        if match := pattern.fullmatch(slug):
            yield match[2]


def _slug(page: StoredPage) -> str:
    return page.url.rstrip("/").rpartition("/")[2]


def number_in_name(page: StoredPage) -> int | None:
    """Return the number that a page's file name begins with; a date is none."""
    match = _NUMBERED.fullmatch(_slug(page))
    return int(match[1]) if match else None


def date_in_name(page: StoredPage) -> str | None:
    """Return the date that a page's file name begins with, as ``2024-09-13``."""
    match = _DATED.fullmatch(_slug(page))
    return match[1] if match else None
