"""From a question to readings of it: words in which tracks and the site are marked.

A question about the site can be worded in many ways that differ only in where the track stands
("how many chapters are in the design track", "the design chapters", "in design, ..."). A reading
takes the track out of the sentence as its scope, so that the forms need to know one wording only.
``@0`` stands for a track that is certainly meant, ``~0`` for its bare name, ``@s`` for the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Final

from ragctl.stages.catalogue.words import Words, stem, stems_of, word_set, words_of

if TYPE_CHECKING:
    from ragctl.stages.catalogue.contents import Catalogue, Track

PAGE_NOUNS: Final = "pages?|chapters?|posts?|essays?|articles?"
VAGUE_NOUNS: Final = (
    "entry|entries|lessons?|tutorials?|guides?|write ups?|texts?|documents?|titles?"
)
TRACK_NOUNS: Final = word_set(
    "track section series folder part category collection course book module area"
)
# Names of tracks that say by themselves that something to read is meant.
_EDITORIAL: Final = word_set(
    "blog essay post article doc handbook new note guide tutorial wiki docs"
)
# Words that stand between two things and not within a track's name.
_JOINTS: Final = word_set(
    "of in on at from for to with by is are do does has have which what that after before about "
    "and or page pages chapter chapters post posts first last"
)
_MOST_SPANS: Final = 4
_LONGEST_PHRASE: Final = 8

_POLITE: Final = re.compile(
    r"^(?:(?:hi|hello|hey|please|ok|okay|so|and|also|well|now|thanks|just|sorry|excuse me|quick "
    r"question|question)"
    r"|(?:can|could|would|will) you(?: please| kindly| quickly)?(?= (?:tell|show|give|list|name|say"
    r"|find|explain|point|enumerate|remind|help|let))"
    r"|(?:can|could|may|might) i(?: please)? (?:ask|know|get|see|have)(?= )"
    r"|(?:please |kindly )?(?:tell|remind) (?:me|us)|let (?:me|us) know|say"
    r"|(?:do|would|did) you (?:happen to )?know(?: off hand)?"
    r"|(?:i|we) (?:want|would like|need|would love|have|wish|am trying|like) to (?:know|find out"
    r"|ask|see|learn|check)(?= (?:how|what|which|where|if|whether|the|in|all|a))"
    r"|(?:i am|i was|just) (?:wondering|curious|asking)|i wonder"
    r"|(?:i|we) (?:want|need|would like)(?= (?:a|the|all) )"
    r"|any idea|out of curiosity) (?=\S)"
)
_CLOSING: Final = re.compile(
    r" (?:please|thanks|thank you|exactly|again|currently|right now|now|at the moment|in total"
    r"|in all|altogether|overall|all together|all told|so far|at present|today|these days"
    r"|to read|for reading|for me|by the way|(?:page|chapter) by (?:page|chapter)|one by one"
    r"|in (?:the|that|this|its|the same) track"
    rf"|(?:and )?(?:which|what) (?:ones?|track|(?:{PAGE_NOUNS}) is (?:it|that|the \w+ one))"
    r"|(?:all )?in (?:the )?(?:right |correct |reading |proper |given )?(?:order|sequence)"
    r"|by title|with (?:a |the )?links?)$"
)
_SITE: Final = re.compile(
    r"\b(?:the |this |your |our |that )(?:whole |entire |web |full |complete )*"
    r"(?:site|website|documentation|docs|handbook|wiki|knowledge base)\b"
)
_ON_SITE: Final = re.compile(
    r" (?:anywhere |everywhere )?(?:on|in|of|from|at|across|within|throughout|for|by|over) @s\b"
    r"|(?<! list)(?<! names) (?:in|of|across|over|on|from) (?:all(?: of)?(?: the| your)?|every) "
    r"tracks?\b| (?:over |right )?here\b"
)
_IN: Final = "in|of|from|on|within|inside|under|for|to|at|throughout|across|among"
_SCOPE: Final = re.compile(
    rf"(?:^| )(?:the ones |those |contained |included |found |listed |available |published )?"
    rf"(?:{_IN})(?: all(?: of)?)? (@\d|(?:the |your |our )?~\d)(?= |$)"
)
_TITLE: Final = re.compile(r"^([@~]\d)(?: track)? (?=(?:how many|what|which|list|show|who|where) )")
_COMPOUND: Final = re.compile(rf"(@\d|~\d) (?=(?:\w+ )??(?:{PAGE_NOUNS}|{VAGUE_NOUNS})(?: |$))")
_TOPIC_FIRST: Final = re.compile(
    r"^((?:if |as |since |because |being )?(?:i am|a|an|someone|somebody|complete)"
    r"(?: \w+)? (?:new|newcomer|beginner)(?: (?:to|in|with|at) .+?)?)"
    r"(?: and| so)? ((?:what|which|where) .+)$"
)


@dataclass(frozen=True)
class Reading:
    """One way to read a question.

    ``text`` is what is left to be understood; ``scope`` the track taken out of it, and ``mark``
    how it stood there; ``on_site`` whether the question says that it is about the site;
    ``tracks`` what the marks stand for; ``quoted`` phrases that the asker set apart.
    """

    text: str
    tracks: tuple[Track, ...] = ()
    scope: Track | None = None
    mark: str = ""
    on_site: bool = False
    question: str = ""
    quoted: frozenset[Words] = field(default_factory=frozenset)

    def track_at(self, mark: str) -> Track | None:
        """Return the track of a mark as it stands in the text; ``None`` for the site."""
        digits = re.search(r"[@~](\d)", mark)
        return self.tracks[int(digits[1])] if digits else None


@dataclass(frozen=True)
class _Span:
    start: int
    end: int
    track: Track
    certain: bool


def readings_of(question: str, catalogue: Catalogue) -> Iterator[Reading]:
    """Yield the readings of a question, those that take most tracks out of it first."""
    words = tuple(_without_courtesies(" ".join(words_of(question))).split())
    quoted = _set_apart(question)
    seen = set()
    for spans in _choices(_spans(words, catalogue)):
        for reading in _scoped(_marked(words, spans, quoted, question)):
            if (key := (reading.text, reading.scope, reading.on_site)) not in seen:
                seen.add(key)
                yield reading


def _without_courtesies(text: str) -> str:
    before = ""
    while before != text:
        before = text
        text = _CLOSING.sub("", _POLITE.sub("", text))
    turned = _TOPIC_FIRST.match(text)
    return f"{turned[2]} {turned[1]}" if turned else text


def _set_apart(question: str) -> frozenset[Words]:
    """Return what stands in quotes or looks like an address."""
    quotes = re.findall(
        r"[\"\u201c\u201e\u00ab`*]([^\"\u201c\u201d\u00bb`*]+)[\"\u201d\u00bb`*]", question
    )
    quotes += re.findall(r"(?:^|\s)['\u2018](\S.*?\S)['\u2019](?=\W|$)", question)
    addresses = re.findall(r"(?:^|\s)(/?[\w.-]+/[\w./-]*\w)", question)
    return frozenset(words_of(phrase) for phrase in (*quotes, *addresses))


def _spans(words: Words, catalogue: Catalogue) -> list[_Span]:
    spans: list[_Span] = []
    start = 0
    while start < len(words) and len(spans) < _MOST_SPANS:
        span = _span_at(words, start, catalogue)
        spans += [span] if span else []
        start = span.end if span else start + 1
    return spans


def _span_at(words: Words, start: int, catalogue: Catalogue) -> _Span | None:
    """Return the longest track that begins at a word, with article and noun around it."""
    first = start + (words[start] in ("the", "your", "our", "this", "that"))
    leading = re.match(
        r"(?:track|section|series|folder)(?: (?:called|named|about|on|titled))? (?:the )?",
        " ".join(words[first:]) + " ",
    )
    inner = first + len(leading[0].split()) if leading else first
    for end in range(min(len(words), inner + _LONGEST_PHRASE), inner, -1):
        if words[inner] in ("the", "a", "an"):
            break
        noun = end < len(words) and stem(words[end]) in TRACK_NOUNS
        named = bool(leading) or noun
        track = catalogue.track_called(words[inner:end], loosely=named)
        if track is None and noun and first > start and _JOINTS.isdisjoint(words[inner:end]):
            track = catalogue.track_within(words[inner:end])  # "the system design track"
        if track is None:
            continue
        phrase = stems_of(words[inner:end])
        if named or len(phrase) > 1 or phrase[0] in _EDITORIAL:
            return _Span(start=start, end=end + noun, track=track, certain=True)
        return _Span(start=inner, end=end, track=track, certain=False)
    return None


def _choices(spans: list[_Span]) -> Iterator[tuple[_Span, ...]]:
    for size in range(len(spans), -1, -1):
        yield from combinations(spans, size)


def _marked(
    words: Words, spans: tuple[_Span, ...], quoted: frozenset[Words], question: str
) -> Reading:
    parts: list[str] = []
    end = 0
    for index, span in enumerate(spans):
        parts += [*words[end : span.start], f"{'@' if span.certain else '~'}{index}"]
        end = span.end
    text = _SITE.sub("@s", " ".join((*parts, *words[end:])))
    bare = _ON_SITE.sub("", f" {text}").strip()
    return Reading(
        text=_without_courtesies(bare),
        tracks=tuple(span.track for span in spans),
        on_site=bare != text or "@s" in text,
        question=question,
        quoted=quoted,
    )


def _scoped(reading: Reading) -> Iterator[Reading]:
    """Yield a reading with each track that limits it taken out, then as it is."""
    for pattern in (_TITLE, _SCOPE, _COMPOUND):
        for match in pattern.finditer(reading.text):
            mark = match[1].replace("~", "@") if pattern is _TITLE else match[1]
            text = f"{reading.text[: match.start()]} {reading.text[match.end() :]}"
            yield Reading(
                text=_without_courtesies(" ".join(text.split())),
                tracks=reading.tracks,
                scope=reading.track_at(match[1]),
                mark=mark,
                on_site=reading.on_site,
                question=reading.question,
                quoted=reading.quoted,
            )
    yield reading
