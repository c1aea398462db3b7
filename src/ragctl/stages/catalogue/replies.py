"""What is answered to each form of question: sentences over pages, every page numbered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.stored import StoredPage
    from ragctl.stages.catalogue.contents import Catalogue, Track


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueAnswer:
    """An answer from the list of pages; ``[n]`` in ``text`` is the n-th of ``pages``."""

    text: str
    pages: tuple[StoredPage, ...]


class Reply:
    """Collects the sentences of an answer and numbers the pages in order of first mention."""

    def __init__(self) -> None:
        self._pages: dict[str, StoredPage] = {}
        self._parts: list[str] = []

    def page(self, page: StoredPage) -> str:
        """Return a page's title with its number."""
        return f"\u201c{page.title}\u201d {self._number(page)}"

    def track(self, track: Track) -> str:
        """Return a track's name, with the number of its landing page where it has one."""
        number = f" {self._number(track.landing)}" if track.landing else ""
        return f"the track {track.label}{number}"

    def _number(self, page: StoredPage) -> str:
        self._pages.setdefault(page.url, page)
        return f"[{list(self._pages).index(page.url) + 1}]"

    def say(self, sentence: str) -> Reply:
        """Add a paragraph; its first letter becomes a capital."""
        self._parts.append(sentence[:1].upper() + sentence[1:])
        return self

    def items(self, lines: Iterable[str]) -> Reply:
        """Add a list."""
        self._parts.append("\n".join(f"- {line}" for line in lines))
        return self

    def numbered(self, pages: Sequence[StoredPage]) -> Reply:
        """Add a list of pages, numbered from 1."""
        lines = (f"{place}. {self.page(page)}" for place, page in enumerate(pages, start=1))
        self._parts.append("\n".join(lines))
        return self

    def done(self) -> CatalogueAnswer:
        """Return the answer."""
        return CatalogueAnswer(text="\n\n".join(self._parts), pages=tuple(self._pages.values()))


def pages_counted(count: int) -> str:
    """Return a number of pages in words."""
    return "1 page" if count == 1 else f"{count:,} pages"


def size_of(track: Track) -> CatalogueAnswer:
    """Say how many pages a track has, and which are its first and last."""
    reply = Reply()
    sentence = f"{reply.track(track)} has {pages_counted(len(track.pages))}"
    if len(track.pages) > 1:
        first, last = reply.page(track.pages[0]), reply.page(track.pages[-1])
        sentence += f", from {first} to {last}"
    elif track.pages:
        sentence += f", {reply.page(track.pages[0])}"
    return reply.say(f"{sentence}.").done()


def tracks_of(catalogue: Catalogue, *, counts_tracks: bool = False) -> CatalogueAnswer:
    """Say which tracks there are and how many pages they have."""
    reply = Reply()
    tracks = len(catalogue.tracks)
    total = pages_counted(len(catalogue.pages))
    in_tracks = "1 track" if tracks == 1 else f"{tracks} tracks"
    opening = f"{in_tracks} with {total}" if counts_tracks else f"{total} in {in_tracks}"
    verb = "is" if (tracks if counts_tracks else len(catalogue.pages)) == 1 else "are"
    reply.say(f"there {verb} {opening}:")
    return reply.items(_track_line(reply, track) for track in catalogue.tracks).done()


def _track_line(reply: Reply, track: Track) -> str:
    number = reply.track(track).removeprefix("the track ")
    if track.landing or not track.pages:
        return f"{number}: {pages_counted(len(track.pages))}"
    return f"{number}: {pages_counted(len(track.pages))}, the first is {reply.page(track.pages[0])}"


def list_of(tracks: Sequence[Track]) -> CatalogueAnswer:
    """List the pages of tracks in reading order."""
    reply = Reply()
    for track in tracks:
        if track.pages:
            reply.say(
                f"{reply.track(track)} has {pages_counted(len(track.pages))}, in reading order:"
            ).numbered(track.pages)
        else:
            reply.say(f"{reply.track(track)} has no pages.")
    return reply.done()


def neighbour_of(
    page: StoredPage, track: Track, *, after: bool, all_of_them: bool
) -> CatalogueAnswer:
    """Say which page, or with ``all_of_them`` which pages, come after or before one."""
    place = track.place_of(page) or 0
    pages = track.pages[place + 1 :] if after else track.pages[:place]
    side = "after" if after else "before"
    reply = Reply()
    if not pages:
        end = "last" if after else "first"
        return reply.say(
            f"{reply.page(page)} is the {end} page of {reply.track(track)}: "
            f"nothing comes {side} it."
        ).done()
    if all_of_them and len(pages) > 1:
        reply.say(
            f"{pages_counted(len(pages))} come {side} {reply.page(page)} in {reply.track(track)}:"
        )
        return reply.items(reply.page(one) for one in pages).done()
    found = pages[0] if after else pages[-1]
    return reply.say(
        f"{reply.page(found)} comes {side} {reply.page(page)} in {reply.track(track)}."
    ).done()


def between(page: StoredPage, other: StoredPage, track: Track) -> CatalogueAnswer:
    """Say which pages stand between two of a track."""
    places = sorted((track.place_of(page) or 0, track.place_of(other) or 0))
    pages = track.pages[places[0] + 1 : places[1]]
    reply = Reply()
    verb = {0: "Nothing comes", 1: "1 page comes"}.get(len(pages), f"{len(pages)} pages come")
    first, last = (reply.page(track.pages[place]) for place in places)
    sentence = f"{verb} between {first} and {last} in {reply.track(track)}"
    if not pages:
        return reply.say(f"{sentence}.").done()
    return reply.say(f"{sentence}:").items(reply.page(one) for one in pages).done()


def order_of(page: StoredPage, other: StoredPage, track: Track) -> CatalogueAnswer:
    """Say which of two pages of a track comes first."""
    pages = sorted((page, other), key=lambda one: track.place_of(one) or 0)
    reply = Reply()
    places = [(track.place_of(one) or 0) + 1 for one in pages]
    return reply.say(
        f"{reply.page(pages[0])} comes before {reply.page(pages[1])}: they are pages "
        f"{places[0]} and {places[1]} of {reply.track(track)}."
    ).done()


def some_of(track: Track, count: int, *, last: bool) -> CatalogueAnswer:
    """List the first or last pages of a track."""
    pages = track.pages[-count:] if last else track.pages[:count]
    reply = Reply()
    which = "last" if last else "first"
    reply.say(f"the {which} {pages_counted(len(pages))} of {reply.track(track)}:")
    return reply.items(reply.page(page) for page in pages).done()


def page_at(track: Track, place: int, *, called: str) -> CatalogueAnswer:
    """Say which page stands at a place of a track, counted from 0 or, negative, from the end."""
    reply = Reply()
    try:
        page = track.pages[place]
    except IndexError:
        count = pages_counted(len(track.pages))
        return reply.say(f"{reply.track(track)} has {count}, so there is no {called} one.").done()
    return reply.say(f"the {called} page of {reply.track(track)} is {reply.page(page)}.").done()


def ends_of(catalogue: Catalogue, place: int, *, called: str) -> CatalogueAnswer:
    """Say which page every track begins or ends with."""
    reply = Reply().say(f"every track has a {called} page of its own:")
    return reply.items(
        f"{track.label}: {reply.page(track.pages[place])}"
        for track in catalogue.tracks
        if track.pages
    ).done()


def page_with_number(track: Track, number: int) -> CatalogueAnswer:
    """Say which page has a number in a track."""
    reply = Reply()
    page = track.by_number.get(number)
    if page is None:
        numbers = sorted(track.by_number)
        return reply.say(
            f"{reply.track(track)} has no page {number}: its {pages_counted(len(numbers))} go from "
            f"number {numbers[0]} to {numbers[-1]}."
        ).done()
    return reply.say(f"page {number} of {reply.track(track)} is {reply.page(page)}.").done()


def place_of(page: StoredPage, track: Track) -> CatalogueAnswer:
    """Say in which track a page is, and where."""
    reply = Reply()
    place = (track.place_of(page) or 0) + 1
    return reply.say(
        f"{reply.page(page)} is page {place} of {len(track.pages)} in {reply.track(track)}."
    ).done()


def newest_of(page: StoredPage, track: Track | None, date: str, *, called: str) -> CatalogueAnswer:
    """Say which page is the newest or oldest by the dates in file names."""
    reply = Reply()
    where = f" of {reply.track(track)}" if track else ""
    return reply.say(f"the {called} page{where} is {reply.page(page)}, dated {date}.").done()


def longest_of(page: StoredPage, track: Track | None, *, called: str) -> CatalogueAnswer:
    """Say which page has the most or the fewest words."""
    reply = Reply()
    where = f" of {reply.track(track)}" if track else ""
    return reply.say(
        f"the {called} page{where} is {reply.page(page)}: {page.words:,} words."
    ).done()


def extreme_of(tracks: Sequence[Track], *, most: bool) -> CatalogueAnswer:
    """Say which track has the most or the fewest pages."""
    counts = [len(track.pages) for track in tracks]
    wanted = max(counts) if most else min(counts)
    found = [track for track in tracks if len(track.pages) == wanted]
    reply = Reply()
    names = " and ".join(reply.track(track) for track in found)
    verb, each = ("has", "") if len(found) == 1 else ("have", " each")
    which = "most" if most else "fewest"
    sentence = f"{names} {verb} the {which} pages: {wanted:,}{each}."
    others = sorted(
        (track for track in tracks if track not in found),
        key=lambda track: len(track.pages),
        reverse=most,
    )
    rest = ", ".join(f"{track.name} {len(track.pages):,}" for track in others)
    return reply.say(f"{sentence} The others: {rest}." if rest else sentence).done()


def beginnings_of(catalogue: Catalogue, *, remark: str) -> CatalogueAnswer:
    """Say where reading the site begins: with the landing or first page of each track."""
    reply = Reply()
    reply.say(f"{remark}The pages do not say which track to read first. They begin so:")
    lines = []
    for track in catalogue.tracks:
        if track.pages:
            title = reply.track(track).removeprefix("the track ")
            lines.append(f"{title}: {reply.page(track.pages[0])}")
    return reply.items(lines).done()


def beginning_of(track: Track) -> CatalogueAnswer:
    """Say what to read first in a track."""
    reply = Reply()
    after = ""
    first = reply.page(track.pages[0])
    if track.landing:
        after = f" Its landing page is {reply.page(track.landing)}."
    return reply.say(f"the track {track.label} begins with {first}.{after}").done()


def first_about(page: StoredPage, track: Track, topic: str) -> CatalogueAnswer:
    """Say which page comes first of those with a topic in their title."""
    reply = Reply()
    return reply.say(
        f"the first page in reading order with \u201c{topic}\u201d in its title is "
        f"{reply.page(page)}, in {reply.track(track)}."
    ).done()


def pages_about(
    topic: str,
    titled: Sequence[StoredPage],
    headed: Sequence[tuple[StoredPage, str]],
    *,
    scope: Track | None,
    title_only: bool,
) -> CatalogueAnswer:
    """Say which pages have a topic in their title or in a heading."""
    reply = Reply()
    urls = {page.url for page in titled}
    rest = [] if title_only else [(page, label) for page, label in headed if page.url not in urls]
    count = len(titled) + len(rest)
    verb, its = ("has", "its title") if count == 1 else ("have", "their titles")
    where = f"in {its}" if title_only else f"in {its} or in a heading"
    of = f" of {reply.track(scope)}" if scope else ""
    reply.say(f"{pages_counted(count)}{of} {verb} \u201c{topic}\u201d {where}:")
    lines = [reply.page(page) for page in titled]
    lines += [f"{reply.page(page)}, under \u201c{label}\u201d" for page, label in rest]
    reply.items(lines)
    if not title_only:
        reply.say("Other pages may speak of it without naming it in a heading.")
    return reply.done()


def pages_with_words(
    words: str, pages: Sequence[StoredPage], *, scope: Track | None
) -> CatalogueAnswer:
    """Say which pages have words in their title that do not stand side by side there."""
    reply = Reply()
    verb, its = ("has", "its title") if len(pages) == 1 else ("have", "their titles")
    of = f" of {reply.track(scope)}" if scope else ""
    reply.say(f"{pages_counted(len(pages))}{of} {verb} all words of \u201c{words}\u201d in {its}:")
    return reply.items(reply.page(page) for page in pages).done()


def tracks_about(topic: str, pages: Sequence[StoredPage], catalogue: Catalogue) -> CatalogueAnswer:
    """Say which tracks have pages with a topic in their title or in a heading."""
    reply = Reply()
    reply.say(f"pages with \u201c{topic}\u201d in their title or in a heading, by track:")
    lines = []
    for track in catalogue.tracks:
        found = [page for page in pages if page.track == track.name]
        if found:
            lines.append(f"{track.label}: {', '.join(reply.page(page) for page in found)}")
    return reply.items(lines).done()
