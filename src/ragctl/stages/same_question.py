"""Whether two questions that sound alike may be the same one: what a cosine cannot tell.

An embedding holds the topic, hardly what is asked of it: "add" and "remove" come close. So two
questions are the same only where nothing of these differs: numbers, exact names, quotes, negation,
opposites, kind of question (why, when, who ...), what one may or must, particles (up, out), units,
quantities (all, any), the order of words (``use UDP instead of TCP``), and the words of content,
compared by stems and synonyms. That is meant to be strict: another answer is worse than
none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ragctl.stages.claims.polarity import sides_of
from ragctl.stages.claims.vocabulary import NEGATIONS, listed
from ragctl.stages.claims.words import keys_of, stem, stopwords, values_in
from ragctl.stages.names import name_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What a question is compared by; ``content`` are stems in order, each once."""

    words: tuple[str, ...]
    content: tuple[str, ...]
    numbers: frozenset[float | str]
    names: frozenset[str]
    quotes: frozenset[str]
    negations: int
    kind: str
    modal: str
    marks: frozenset[str]
    units: frozenset[str]
    has_sides: bool


def differences(one: str, other: str) -> tuple[str, ...]:
    """Return in which respects two questions differ, in words; none where they may be the same."""
    mine, theirs = _read(one), _read(other)
    return tuple(_differing(mine, theirs))


def _differing(mine: _Question, theirs: _Question) -> Iterator[str]:
    for name, told in _COMPARED.items():
        if getattr(mine, name) != getattr(theirs, name):
            yield told
    if mine.kind and theirs.kind and mine.kind != theirs.kind:
        yield "kind of question"
    for differ, told in _RULES:
        if differ(mine, theirs) or differ(theirs, mine):
            yield told


@lru_cache(maxsize=4096)
def _read(text: str) -> _Question:
    plain = text.replace("’", "'").lower()
    for pattern, shorter in _PHRASES:
        plain = pattern.sub(shorter, plain)
    words = tuple(_WORD.findall(plain))
    stems = tuple(stem(word) for word in words)
    content = dict.fromkeys(
        found for word, found in zip(words, stems, strict=True) if _is_content(word, found)
    )
    return _Question(
        words=stems,
        content=tuple(content),
        numbers=values_in(_FREE.sub(" ", text)),
        names=name_keys(text),
        quotes=frozenset(quote.strip("`\"'“”") for quote in _QUOTE.findall(text)),
        negations=sum(word in _DENYING or word.endswith("n't") for word in words),
        kind=_kind(plain),
        modal=next((name for word in words if (name := _MODALS.get(word))), ""),
        marks=frozenset(mark for word in words if (mark := _MARKS.get(word))),
        units=frozenset(word.removesuffix("s") for word in words) & _UNITS,
        has_sides=not _SIDES.isdisjoint(words),
    )


def _is_content(word: str, found: str) -> bool:
    return not (
        word in _FRAME
        or word in _MARKS
        or word in _MODALS
        or word in _DENYING
        or found in stopwords() - NEGATIONS
    )


def _kind(plain: str) -> str:
    """Return what is asked for, empty where the first words leave it open."""
    found = _KIND.search(plain)
    if found is None:
        return ""
    return _KINDS.get(found[0].replace(" ", "_"), found[0].replace(" ", "_"))


def _modals_differ(mine: _Question, theirs: _Question) -> bool:
    """Whether one asks what must be and the other does not, or both differ in a plain question.

    ``How can I`` and ``How should I`` ask the same.
    """
    if "must" in (mine.modal, theirs.modal) and mine.modal != theirs.modal:
        return "should" not in (mine.modal, theirs.modal) or not mine.kind
    if mine.kind == "how" or theirs.kind == "how":
        return False
    return bool(mine.modal and theirs.modal) and mine.modal != theirs.modal


def _are_opposed(mine: _Question, theirs: _Question) -> bool:
    return any(
        not other.isdisjoint(theirs.words) and own.isdisjoint(theirs.words)
        for own, other in sides_of(mine.words)
    )


def _order_differs(mine: _Question, theirs: _Question) -> bool:
    """Whether what both have stands in another order.

    Two neighbours may change places, as in ``mount a disk`` and ``a disk is mounted``, unless one
    of the questions has sides: ``from a list to a tuple``.
    """
    one = [word for word in mine.content if word in theirs.content]
    other = [word for word in theirs.content if word in mine.content]
    moved = [place for place, word in enumerate(one) if other[place] != word]
    if not moved:
        return False
    return mine.has_sides or theirs.has_sides or len(moved) > 2 or moved[1] - moved[0] > 1


def _left_over(mine: _Question, theirs: _Question) -> tuple[str, ...]:
    """Return the stems of content for which the other has neither the same nor a synonym."""
    known = {key for word in theirs.content for key in _same_as(word)}
    return tuple(word for word in mine.content if known.isdisjoint(_same_as(word)))


def _same_as(word: str) -> Sequence[str]:
    keys = (key for key in keys_of(word) if not key.endswith("…"))
    return (*keys, *(group for group, words in _ALSO_SAME.items() if word in words))


_COMPARED: Final = {
    "numbers": "numbers",
    "names": "names",
    "quotes": "quotes",
    "negations": "negation",
    "marks": "particles or quantities",
    "units": "units",
}
_RULES: Final[tuple[tuple[Callable[[_Question, _Question], object], str], ...]] = (
    (_are_opposed, "opposites"),
    (_modals_differ, "what may or must be"),
    (_order_differs, "order"),
    (_left_over, "words"),
)
_PHRASES: Final = tuple(
    (re.compile(rf"\b(?:{pattern})\b"), shorter)
    for pattern, shorter in (
        (r"(what|who|where|how|when|that|there|it)'s", r"\1 is"),
        (r"at (?:what|which) (?:point|time)|since when", "when"),
        (r"(?:what|which) (?:is|are) the reasons? (?:for|to|why|that)|for what reason", "why"),
        (r"what is the number of", "how many"),
        (r"(?:which|what) (?:people|persons?)", "who"),
        (r"what (?:is|are) the (?:steps?|ways?) (?:to|for|of)|in (?:what|which) way", "how"),
        (r"(?:what|which) (?:is the )?effects? (?:of|has|have)", "what"),
        (r"at the same time|simultaneously", "at once"),
    )
)
"""What asks for the same in more words."""
_ALSO_SAME: Final = {
    "=benefit": frozenset(map(stem, listed("benefit advantage"))),
    "=drawback": frozenset(map(stem, listed("drawback disadvantage downside"))),
    "=differ": frozenset(map(stem, listed("differ difference"))),
}
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTE: Final = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|“[^“”\n]+”|(?<!\w)'[^'\n]+'(?!\w)")
_FREE: Final = re.compile(r"\b(?:one|once)\b", re.I)
_DENYING: Final = frozenset(
    listed("not no never without cannot nor none neither nothing nobody unless except")
)
_KIND: Final = re.compile(
    r"\b(?:how (?:many|much|often|long|large|big|fast|far|soon|frequently|small|slow)|why|whose"
    r"|who|where|when|how)\b"
)
_KINDS: Final = {
    "how_big": "how_large",
    "how_frequently": "how_often",
    "whose": "who",
}
_MODALS: Final = {
    **dict.fromkeys(listed("can could may might able allowed possible"), "may"),
    **dict.fromkeys(listed("must mandatory obliged"), "must"),
    **dict.fromkeys(listed("should ought"), "should"),
}
_MARKS: Final = {
    **{word: word for word in listed("up out off down over under")},
    **dict.fromkeys(listed("all every each both"), "all"),
    **dict.fromkeys(listed("any some"), "any"),
    "only": "only",
}
_UNITS: Final = frozenset(
    listed(
        "nanosecond microsecond millisecond second minute hour day week month quarter year decade "
        "bit byte kilobyte megabyte gigabyte terabyte kb mb gb tb meter metre percent line word "
        "character token page"
    )
)
_SIDES: Final = frozenset(
    listed(
        "instead over than rather prefer from to into before after versus vs by replace replaces "
        "convert follow follows precede precedes"
    )
)
_FRAME: Final = frozenset(
    listed(
        "tell say says said state name explain describe please show me exactly actually does do "
        "did way mean means there exist exists get gets got happen happens happened thing "
        "things done work works working one ones"
    )
)
"""Words that ask and do not change what is asked for."""
