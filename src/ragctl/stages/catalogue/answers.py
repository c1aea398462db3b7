"""From a matched form to its answer: the slots are looked up, and what is unsure gives none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragctl.stages.catalogue import replies
from ragctl.stages.catalogue.contents import Catalogue, Track, date_in_name
from ragctl.stages.catalogue.forms import learner_topic
from ragctl.stages.catalogue.readings import PAGE_NOUNS, VAGUE_NOUNS, Reading
from ragctl.stages.catalogue.replies import CatalogueAnswer
from ragctl.stages.catalogue.words import Words, number_of, stem, word_set, words_of

if TYPE_CHECKING:
    from ragctl.records.stored import StoredPage

# Words for a page that are also names of tracks, beside a track's own name.
_TRACKS_OF_NOUNS: Final = {"post": ("blog", "post")}
_NOT_TOPICS: Final = word_set(
    "it this that them these those which what how why who when where all any each every everything "
    "anything something nothing more most less least other first last next one two and or not to "
    "of in on for with by from as is are be been was were do does did has have can i you we they "
    "there here so too very just only same such than then"
)
_TOPIC_LEAD: Final = re.compile(
    r"^(?:(?:the )?(?:words?|terms?|phrases?|topics?|subjects?|names?|concepts?|ideas?|basics)"
    r"(?: of)? |how (?:the |to |a |an )?|what (?:is|are) |the |an? |using )+"
)
_TOPIC_END: Final = re.compile(r"(?: (?:works?|is|are|in (?:depth|detail|general)|at all))+$")
# What no page is called by, though a title may begin with it.
_SUPERLATIVE: Final = re.compile(
    r"(?:the )?(?:very )?(?:longest|shortest|biggest|largest|smallest|newest|oldest|latest|earliest"
    r"|best|worst|most \w+|least \w+)(?: (?:one|of all|here))?"
)
_PAGE_LEAD: Final = re.compile(
    rf"^(?:the |a |an |that )?(?:{PAGE_NOUNS})(?: (?:number|no|nr|on|about|called|titled|named"
    r"|entitled|for|at|with the title))? (?:the |a |an )?(?=\S)"
)
_PAGE_END: Final = re.compile(rf" (?:{PAGE_NOUNS}|{VAGUE_NOUNS}|piece|one)$")
_READS: Final = re.compile(r"\b(?:read|reading|finished)\b")
_FIRSTS: Final = ("first", "opening", "start", "begin", "open", "kick")
_LASTS: Final = ("last", "final", "closing", "end", "finish", "close", "conclude")


@dataclass(frozen=True)
class Question:
    """A reading that fits a form, and the site it is asked of."""

    reading: Reading
    match: re.Match[str]
    catalogue: Catalogue

    def slot(self, name: str) -> str:
        """Return what stands in a slot; empty where the form has none or it was left out."""
        return (self.match.groupdict().get(name) or "").strip()

    @property
    def noun(self) -> str:
        """The word used for pages, in the singular; empty where there is none."""
        return stem(self.slot("noun"))

    @property
    def is_plural(self) -> bool:
        """Whether the word used for pages is in the plural."""
        return self.slot("noun") != self.noun

    @property
    def mark(self) -> str:
        """How the track stands in the question; empty where none does."""
        subject = self.slot("subject")
        return subject if re.search(r"[@~]\d", subject) else self.reading.mark

    @property
    def is_certain(self) -> bool:
        """Whether the question surely speaks of the site or of one of its tracks."""
        if self.mark:
            return self.mark.startswith("@")
        return self.reading.on_site or self.slot("subject") in ("@s", "you")

    @property
    def is_meant(self) -> bool:
        """Whether the question may be taken to be about the site, its form being right.

        "How many pages does the kernel have?" may be about memory: where a track is named like
        a thing, and pages are pages, it is left alone.
        """
        if self.slot("subject") and self.reading.scope:
            return False  # two tracks, or a part of something in one
        if self.is_certain:
            return True
        if not re.fullmatch(PAGE_NOUNS, self.noun):
            return False
        return not (self.mark.startswith(("the", "your", "our")) and self.noun == "page")

    @property
    def _names_a_track(self) -> bool:
        return self.mark.startswith(("@", "~"))

    @property
    def track(self) -> Track | None:
        """The track asked about, named or meant by the word for its pages; else ``None``."""
        if self.slot("subject") and (track := self.reading.track_at(self.slot("subject"))):
            return track
        if self.reading.scope:
            return self.reading.scope
        if len(self.catalogue.tracks) == 1:
            return self.catalogue.tracks[0]
        names = _TRACKS_OF_NOUNS.get(self.noun, (self.noun,))
        found = [track for track in self.catalogue.tracks if stem(track.name.casefold()) in names]
        return found[0] if len(found) == 1 else None

    def page(self, slot: str, *, anywhere: bool = False) -> StoredPage | None:
        """Return the one page that a slot names, ``None`` where it may be something else.

        Without a word for pages or the site beside it, only a full title as it is written or in
        its track, a phrase in quotes or an address will do. It is looked for in the track that the
        question names, or with ``anywhere`` in all.
        """
        text = self.slot(slot)
        bare = _PAGE_END.sub("", _PAGE_LEAD.sub("", text))
        if "@" in text or "~" in text or _SUPERLATIVE.fullmatch(bare):
            return None
        plain = tuple(text.split())
        scope = None if anywhere else self.track
        sure = self.is_certain or bool(self.noun) or plain in self.reading.quoted
        if page := self.catalogue.page_called(plain, scope=scope, strictly=not sure):
            said = self._names_a_track or _READS.search(self.reading.text)
            return page if sure or said or self._spells(page) else None
        number = number_of(bare)
        if number is not None and (bare != text or self.noun):
            return self.catalogue.page_numbered(number, scope=scope)
        if bare == text:
            return None
        return self.catalogue.page_called(tuple(bare.split()), scope=scope)

    def _spells(self, page: StoredPage) -> bool:
        """Whether the question has a page's title or address to the letter, without an article."""
        spelled = rf"(?<!the )(?<![\w]){re.escape(page.title)}(?!\w)"
        return page.url in self.reading.question or bool(
            re.search(spelled, self.reading.question) and page.title != page.title.lower()
        )


Answering = Callable[[Question], CatalogueAnswer | None]


def _count(asked: Question) -> CatalogueAnswer | None:
    if not (asked.is_certain if asked.slot("size") else asked.is_meant):
        return None
    other = asked.slot("other")
    track = asked.reading.track_at(other) if other else asked.track
    return replies.size_of(track) if track else replies.tracks_of(asked.catalogue)


def _count_tracks(asked: Question) -> CatalogueAnswer | None:
    return _tracks(asked, counts_tracks=True)


def _tracks(asked: Question, *, counts_tracks: bool = False) -> CatalogueAnswer | None:
    if asked.mark or not (stem(asked.slot("tracks")) == "track" or asked.is_certain):
        return None
    return replies.tracks_of(asked.catalogue, counts_tracks=counts_tracks)


def _most(asked: Question) -> CatalogueAnswer | None:
    if asked.mark or not (asked.slot("sure") or asked.is_certain):
        return None
    most = asked.slot("most").startswith(("most", "large", "high", "big", "long"))
    return replies.extreme_of(asked.catalogue.tracks, most=most)


def _compare(asked: Question) -> CatalogueAnswer | None:
    first = asked.reading.track_at(asked.slot("subject"))
    second = asked.reading.track_at(asked.slot("other"))
    sure = asked.is_meant or asked.slot("other").startswith("@") or asked.slot("sure")
    if first is None or second is None or first == second or not sure:
        return None
    return replies.extreme_of(
        (first, second), most=asked.slot("most") in ("more", "larger", "bigger", "longer")
    )


def _which_track(asked: Question) -> CatalogueAnswer | None:
    if asked.reading.scope:
        return None
    named = asked.slot("named")
    if named and not (_PAGE_LEAD.search(named) or _PAGE_END.search(named)):
        return None
    page = asked.page("named" if named else "page")
    return replies.place_of(page, asked.catalogue.track_of(page)) if page else None


def _position(asked: Question) -> CatalogueAnswer | None:
    page = asked.page("page")
    return replies.place_of(page, asked.catalogue.track_of(page)) if page else None


def _within(asked: Question) -> CatalogueAnswer | None:
    named = _PAGE_LEAD.search(asked.slot("page")) or _PAGE_END.search(asked.slot("page"))
    if asked.track is None or not (asked.is_certain or named):
        return None
    page = asked.page("page", anywhere=True)
    return replies.place_of(page, asked.catalogue.track_of(page)) if page else None


def _two_pages(asked: Question) -> tuple[StoredPage, StoredPage, Track] | None:
    """Return the two pages of a question and their track; ``None`` unless they share one."""
    page, second = asked.page("page"), asked.page("second")
    if page is None or second is None or page == second or page.track != second.track:
        return None
    return page, second, asked.catalogue.track_of(page)


def _order(asked: Question) -> CatalogueAnswer | None:
    found = _two_pages(asked)
    return replies.order_of(*found) if found else None


def _between(asked: Question) -> CatalogueAnswer | None:
    found = _two_pages(asked)
    return replies.between(*found) if found else None


def _several(asked: Question) -> CatalogueAnswer | None:
    count = number_of(asked.slot("number"))
    if not asked.is_meant or not count or not asked.track or not asked.track.pages:
        return None
    return replies.some_of(asked.track, count, last=asked.slot("ordinal") == "last")


def _ends(asked: Question) -> CatalogueAnswer | None:
    if asked.is_plural or not asked.is_meant:
        return None
    ordinal = asked.slot("ordinal").removeprefix("very ")
    place, called = _place(ordinal)
    if asked.track and asked.track.pages:
        return replies.page_at(asked.track, place, called=called)
    if asked.track or place not in (0, -1) or not (asked.is_certain or asked.noun != "page"):
        return None
    return replies.ends_of(asked.catalogue, place, called=called)


def _place(ordinal: str) -> tuple[int, str]:
    """Return an ordinal as an index, and as a word."""
    if ordinal.startswith(_FIRSTS):
        return 0, "first"
    if ordinal.startswith(_LASTS):
        return -1, "last"
    number = number_of(ordinal)
    if number is None or ordinal.endswith("last"):
        return -2, "last but one"
    return (number - 1 if number else 0), ordinal


def _newest(asked: Question) -> CatalogueAnswer | None:
    pages = asked.track.pages if asked.track else asked.catalogue.pages
    dated = [(date_in_name(page) or "", page) for page in pages]
    if asked.is_plural or not asked.is_meant or not dated or not all(date for date, _ in dated):
        return None
    called = "oldest" if asked.slot("newest") in ("oldest", "earliest") else "newest"
    date, page = (min if called == "oldest" else max)(dated, key=lambda one: one[0])
    return replies.newest_of(page, asked.track, date, called=called)


def _longest(asked: Question) -> CatalogueAnswer | None:
    pages = asked.track.pages if asked.track else asked.catalogue.pages
    if asked.is_plural or not asked.is_meant or not pages:
        return None
    shortest = asked.slot("size") in ("shortest", "smallest") or asked.slot("words") == "fewest"
    page = (min if shortest else max)(pages, key=lambda one: one.words)
    return replies.longest_of(page, asked.track, called="shortest" if shortest else "longest")


def _numbered(asked: Question) -> CatalogueAnswer | None:
    number = number_of(asked.slot("number"))
    if asked.is_plural or not asked.is_meant or number is None:
        return None
    if asked.track is None or not asked.track.pages:
        return None
    return replies.page_with_number(asked.track, number)


def _neighbour(asked: Question) -> CatalogueAnswer | None:
    page = asked.page("page")
    if page is None:
        return None
    side, inverse = asked.slot("side"), asked.slot("inverse")
    after = (
        side not in ("before", "precedes", "preceding", "previous", "prior")
        if side
        else (inverse in ("precede", "come before"))
    )
    return replies.neighbour_of(
        page, asked.catalogue.track_of(page), after=after, all_of_them=asked.is_plural
    )


def _list(asked: Question) -> CatalogueAnswer | None:
    if asked.slot("toc") and asked.mark.startswith(("@", "~")):
        return replies.list_of((asked.track,)) if asked.track else None
    if asked.slot("contents") and not asked.noun:
        if not asked.is_certain or (asked.reading.text == "what is" and not asked.mark):
            return None
    elif not ((asked.is_plural or asked.slot("each")) and asked.is_meant):
        return None
    return replies.list_of((asked.track,) if asked.track else asked.catalogue.tracks)


def _learner(asked: Question) -> CatalogueAnswer | None:
    tail = asked.slot("tail")
    topic = learner_topic(f" {tail}" if tail else "")
    is_new = bool(re.search(r"\b(?:new|newcomers?|beginners?|newbie)\b", tail))
    if topic is None or (asked.slot("reads") and not (asked.slot("first") or is_new or topic)):
        return None
    if asked.reading.scope and topic:
        return _beginning(asked) if is_new and asked.is_certain else None
    reads = bool(asked.slot("reads") or asked.noun or asked.reading.on_site or is_new)
    if not topic:
        return _beginning(asked)
    return _beginning_about(asked, topic, loosely=reads)


def _beginning(asked: Question, *, remark: str = "") -> CatalogueAnswer | None:
    if asked.track and asked.track.pages:
        return replies.beginning_of(asked.track)
    return replies.beginnings_of(asked.catalogue, remark=remark)


def _beginning_about(asked: Question, topic: str, *, loosely: bool) -> CatalogueAnswer | None:
    if re.fullmatch(r"@\d|(?:the )?~\d", topic):
        track = asked.reading.track_at(topic)
        sure = topic[0] in "@~" or loosely
        return replies.beginning_of(track) if track and track.pages and sure else None
    if not loosely or "@" in topic or "~" in topic:
        return None
    words = _topic(topic)
    track = asked.catalogue.track_called(words, loosely=True) if words else None
    if track and track.pages:
        return replies.beginning_of(track)
    if words and (titled := asked.catalogue.titled(words, scope=asked.track)):
        page = titled[0]
        return replies.first_about(page, asked.catalogue.track_of(page), " ".join(words))
    if not asked.reading.on_site:
        return None
    return _beginning(asked, remark=f"No track and no title is about \u201c{topic}\u201d. ")


def _topic(text: str) -> Words:
    """Return the words of a topic without what leads up to it; none where there is no topic."""
    if "@" in text or "~" in text:
        return ()
    words = words_of(_TOPIC_END.sub("", _TOPIC_LEAD.sub("", text)))
    return () if all(word in _NOT_TOPICS for word in words) else words


def _about(asked: Question, *, title_only: bool = False) -> CatalogueAnswer | None:
    words = _topic(asked.slot("topic"))
    if not words or not _may_be_about(asked):
        return None
    titled = asked.catalogue.titled(words, scope=asked.track)
    headed = [] if title_only else asked.catalogue.headed(words, scope=asked.track)
    topic = " ".join(words)
    if not titled and not headed:
        titled = asked.catalogue.titled_loosely(words, scope=asked.track)
        if not titled or asked.slot("bytrack"):
            return None
        return replies.pages_with_words(topic, titled, scope=asked.track)
    if asked.slot("bytrack"):
        pages = [*titled, *(page for page, _ in headed if page not in titled)]
        return replies.tracks_about(topic, pages, asked.catalogue)
    return replies.pages_about(topic, titled, headed, scope=asked.track, title_only=title_only)


def _may_be_about(asked: Question) -> bool:
    if asked.noun or asked.slot("subject"):
        return asked.is_meant
    if asked.slot("yes"):
        return asked.is_certain
    return not asked.mark or asked.is_certain


def _in_title(asked: Question) -> CatalogueAnswer | None:
    return _about(asked, title_only=True)


ANSWERING: Final[dict[str, Answering]] = {
    "count tracks": _count_tracks,
    "tracks": _tracks,
    "most": _most,
    "compare": _compare,
    "which track": _which_track,
    "position": _position,
    "within": _within,
    "order": _order,
    "between": _between,
    "several": _several,
    "ends": _ends,
    "newest": _newest,
    "longest": _longest,
    "numbered": _numbered,
    "neighbour": _neighbour,
    "list": _list,
    "count": _count,
    "learner": _learner,
    "about": _about,
    "in title": _in_title,
}
