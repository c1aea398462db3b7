"""The list of pages as a passage, for questions about the site that no form fits.

A question that mentions the structure of the site cannot be answered from passages alone. Where
:func:`~ragctl.stages.catalogue.recognise` has no answer to it, a model can find one in the tracks,
their sizes and the titles that matter. Here a question is taken loosely: one too many costs a few
lines of the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ragctl.stages.catalogue.readings import PAGE_NOUNS, TRACK_NOUNS, VAGUE_NOUNS
from ragctl.stages.catalogue.replies import pages_counted
from ragctl.stages.catalogue.words import ORDINAL, Words, stems_of, word_set, words_of
from ragctl.stages.tokens import estimated_tokens

if TYPE_CHECKING:
    from ragctl.stages.catalogue.contents import Catalogue, Track

LONGEST_TOKENS: Final = 300
"""The most tokens of a catalogue passage, by :func:`ragctl.stages.tokens.estimated_tokens`."""

_TITLE_LENGTHS: Final = (200, 100, 80, 70, 60, 50, 45, 40, 35, 30, 25)
_LONGEST_QUESTION: Final = 300

_NOUN: Final = rf"(?:{PAGE_NOUNS}|write ups?|lessons?|tutorials?|guides?)"
_SITE: Final = (
    r"(?:the|this|your|our|that) (?:\w+ )?(?:site|website|documentation|docs|handbook|wiki)"
)
_SURE_NOUN: Final = r"(?:chapter|post|essay|article)s?"
_THEME: Final = (
    r"(?:about|on|cover\w*|deal(?:s|ing)?|discuss\w*|explain\w*|mention\w*|describ\w*|announc\w*"
    r"|treat\w*|introduc\w*|address\w*|dedicated|devoted|teach\w*|called|titled)"
)
_ELSEWHERE: Final = (
    r"(?! (?:in|of|by|from) (?!(?:the |this |your |our )?(?:track|site|series|blog)))"
)
_POINTER: Final = (
    rf"(?:next|previous|following|preceding|first|last|final|opening|closing|oldest|newest|latest"
    rf"|longest|shortest|{ORDINAL})"
)
_ASKED: Final = "|".join(
    (
        # pages and what they are about: "which pages deal with", "is there a chapter that explains"
        rf"{_NOUN}(?: (?:that|which|is|are|does|do|there|here|also|all)){{0,3}} {_THEME}\b",
        rf"(?:which|what|how many) (?:\w+ )?{_NOUN} do (?:you|we) (?:have|offer)\b",
        rf"{_NOUN} (?:whose|where the|with .+ in (?:the|its|their)) titles?",
        r"in (?:the|its|their) titles?$",
        r"(?:have|is there|are there|got|find|know of) (?:anything|something|nothing)"
        r"(?: \w+)? (?:on|about|regarding|for|with)\b",
        # places: "the next chapter", "after the page about hashing", "which page comes"
        rf"{_POINTER} {_NOUN}{_ELSEWHERE}\b",
        rf"(?:before|after|follows?|precedes?|succeeds?|finished) (?:\w+ ){{1,6}}?{_NOUN}$",
        rf"{_SURE_NOUN} (?:just |right |directly |immediately )?"
        r"(?:before|after|preceding|following)\b",
        rf"(?:more|fewer|most|fewest) {_SURE_NOUN}\b",
        rf"(?:list|name|show|give|recommend|suggest)(?: me)?(?: \w+)? {_SURE_NOUN}\b",
        r"(?:you|we|been) (?:publish|published|write|wrote|written|posted)\b",
        rf"(?:which|what) (?:\w+ )?{_NOUN} (?:follows?|precedes?|opens?|ends?|begins?|closes?)\b",
        rf"(?:which|what) (?:\w+ )?{_NOUN} (?:is|are|was|were|comes?) (?:\w+ )?"
        r"(?:before|after|next|at|number|the|last|first$|longest|shortest|\w+est)\b",
        rf"{_NOUN} (?:has|have) (?:the|a) \w+ titles?",
        # tracks, and reading them
        r"(?:which|what|how many|all|list|the|every|each|of|these|different|other) tracks?"
        r"(?= (?:is|are|do|does|have|has|there|can|would|should|will|differ|compare|cover|here|on"
        r"|and)\b|$)",
        r"(?:table of contents|reading order)\b",
        r"(?:should|do|can|could|must) (?:i|we|one|a beginner|someone) "
        r"(?:read|start|begin)(?: \w+)? (?:first|next|before|after|with|in)\b",
    )
)
_ABOUT_PAGES: Final = re.compile(rf"\b(?:{_ASKED})")
_ON_SITE: Final = re.compile(rf"\b(?:on|of|in|from|at|across|does|has|have) {_SITE}\b")
_READABLE: Final = re.compile(
    rf"\b(?:{_NOUN}|{VAGUE_NOUNS}|read|reading|covers?|covered|sections?|what else)\b"
    r"|(?<!\bi )(?<!\bto )(?<!\bwe )(?<!\byou )\btracks?\b(?! (?:the|a|an|it|its|how|which)\b)"
)
_NAMELESS: Final = word_set(
    "page chapter post essay article blog track site website title tutorial guide lesson write up "
    "which what where who how many much list show tell name give is are was be there here have has "
    "do does did you your we our i me my it its they their the a an of in on at to from for with "
    "by about and or not no none any anything something several one two all each every that this "
    "these those deal cover discuss explain mention describe announce come after before next last "
    "first final very end begin start read reading outside inside"
)
_BUT: Final = r"(?:outside|except|besides|beyond|without|not in|other than|apart from)"


def catalogue_passage(question: str, catalogue: Catalogue) -> str | None:
    """Return what the site holds, in at most 300 tokens, where a question is about the site itself.

    Tracks with their numbers of pages come first; then all titles where they fit, else those of
    the tracks that the question names, else those that share a word with it. ``None`` where the
    question is about something else, or the site is empty.
    """
    words = words_of(question)
    if not catalogue.pages or len(question) > _LONGEST_QUESTION:
        return None
    named = _tracks_named(words, catalogue)
    if not _is_about_site(" ".join(words), named=bool(named)):
        return None
    opening = _opening(catalogue)
    for tracks in (catalogue.tracks, named):
        for length in _TITLE_LENGTHS:
            text = "\n".join((opening, *(_titles(track, length) for track in tracks)))
            if tracks and _fits(text):
                return text
    return _grown(opening, (*map(_ends, named), *_telling(words, catalogue, named)))


def _is_about_site(text: str, *, named: bool) -> bool:
    if _ABOUT_PAGES.search(text):
        return True
    return bool((named or _ON_SITE.search(text)) and _READABLE.search(text))


def _tracks_named(words: Words, catalogue: Catalogue) -> tuple[Track, ...]:
    """Return the tracks that a question speaks of; one that it speaks of as left out is not."""
    text = " ".join(stems_of(words))
    return tuple(
        track
        for track in catalogue.tracks
        if any(_is_named(" ".join(phrase), text) for phrase in track.phrases)
    )


def _is_named(phrase: str, text: str) -> bool:
    """Whether a track's name stands where a place or the first part of a compound stands."""
    if phrase not in text:  # so for nearly all: the patterns below take long to make
        return False
    name, nouns = re.escape(phrase), "|".join(sorted(TRACK_NOUNS))
    text = re.sub(rf"\b{_BUT}(?: of)? {name}(?: (?:{nouns}))?(?= |$)", " ", text)
    return bool(
        re.search(
            rf"\b(?:in|of|on|from|within|through|to) {name}(?= |$)(?! of\b)"
            rf"|(?:^| ){name} (?:{nouns}|{_NOUN})\b"
            rf"|\b(?:track|section|series) {name}(?= |$)"
            rf"|^{name} how\b",
            text,
        )
    )


def _opening(catalogue: Catalogue) -> str:
    """Return the tracks with their sizes; of very many, as many as half the passage takes."""
    counts = [f"{_one_line(track.label)} {len(track.pages)}" for track in catalogue.tracks]
    tracks = "1 track" if len(counts) == 1 else f"{len(counts)} tracks"
    pages = pages_counted(len(catalogue.pages))
    shown = len(counts)
    while True:
        more = f", and {len(counts) - shown} more" if shown < len(counts) else ""
        text = f"The site's list of pages: {pages} in {tracks}: {', '.join(counts[:shown])}{more}."
        if shown == 0 or estimated_tokens(text) <= LONGEST_TOKENS // 2:
            return text
        shown -= 1


def _titles(track: Track, length: int) -> str:
    titles = (
        f"{place}. {_shortened(page.title, length)}" for place, page in enumerate(track.pages, 1)
    )
    return f"Track {track.name}, in reading order: {'; '.join(titles)}."


def _shortened(title: str, length: int) -> str:
    title = _one_line(title)
    return title if len(title) <= length else f"{title[: length - 1].rstrip()}…"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _ends(track: Track) -> str:
    """Return the first and the last title of a track."""
    if not track.pages:
        return f"Track {track.name} has no pages."
    first, last = (_shortened(track.pages[place].title, 60) for place in (0, -1))
    return f"Track {track.name} goes from “{first}” to “{last}”."


def _telling(words: Words, catalogue: Catalogue, named: Sequence[Track]) -> Iterator[str]:
    """Yield a line for each page whose title shares a word with the question, the most first."""
    names = {word for track in named for phrase in track.phrases for word in phrase}
    wanted = set(stems_of(words)) - _NAMELESS - names
    shared = [(len(wanted & set(stems_of(words_of(page.title)))), page) for page in catalogue.pages]
    found = sorted(((count, page) for count, page in shared if count), key=lambda each: -each[0])
    if wanted:
        yield (
            "Titles with words of the question:"
            if found
            else ("No title has a word of the question.")
        )
    for _count, page in found:
        track = catalogue.track_of(page)
        place = (track.place_of(page) or 0) + 1
        yield f"- page {place} of {track.name}: {_shortened(page.title, 80)}"


def _grown(text: str, lines: Iterable[str]) -> str:
    """Return a text with as many of the lines as fit, in order."""
    for line in lines:
        longer = f"{text}\n{line}"
        if not _fits(longer):
            break
        text = longer
    return text


def _fits(text: str) -> bool:
    # counting takes time: a text of ten characters a token is too long in any case
    return len(text) <= 10 * LONGEST_TOKENS and estimated_tokens(text) <= LONGEST_TOKENS
