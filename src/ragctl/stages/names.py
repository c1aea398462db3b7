"""Exact names: functions, flags, commands, paths, headers and versions in passages and questions.

A text search configuration takes ``std::vector<int>``, ``C++`` and ``--no-verify`` apart, drops
``<linux/bpf.h>`` as a tag and keeps a path whole. So names are found here and kept beside the
words, folded in case, in these forms:

- whole, as written: ``--no-verify``, ``std::vector<int>``, ``c++``, ``/proc/sys/net``;
- joined, without anything but letters and digits: ``noverify``, ``bpfregstate``; it stands for
  every way of writing the dots, colons, underscores, slashes and brackets;
- in parts, joined: the segments of a path or a dotted name, and its beginnings and ends
  (``bpfh``, ``tcptwreuse``).

The words of compound names (``string``, ``view``) are handed out beside them, to be stemmed like
any others. A question gives the joined form of its names and of words that stand side by side, for
``bpf reg state`` asks for ``bpf_reg_state``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

RULES_VERSION: Final = 2
"""Goes up when the same passage gives other names: its page is stored anew then."""

LONGEST_NAME: Final = 120
LONGEST_RUN: Final = 4
_SHORTEST_JOINED: Final = 3
_MOST_SEGMENTS: Final = 12
_LONGEST_TOKEN: Final = 300
_REMEMBERED: Final = 16_384

_TOKEN = re.compile(
    r"""
    (?<![^\W_])                              # not inside a word
    (?! [^\W\d_] [^\W\d_A-Z]* (?![\w\-./\\:@+\#<(]) )   # not a plain word, which most are
    (?P<prefix> --? | ~?/ | \.{1,2}/ | [$@%] | \.(?=[^\W\d_]) )?
    (?P<core> \w+ (?: (?: -> | [-./\\:@] )+ \w+ )* )
    (?P<suffix> \+\+(?!\w) | \#(?!\w) | <[\w:,.&*\ \[\]]{1,40}> )?
    (?P<call> \(\) )?
    """,
    re.VERBOSE,
)
_JOINT = re.compile(r"(?:->|[-./\\:@])+")
_COMPOUND = re.compile(r"[a-z\d][A-Z]|[A-Z]{2}[a-z]{2}|[^\W_]_+[^\W_]|[^\W\d_]\d|\d[^\W\d_]")
_CAPITALS = re.compile(r"[A-Z][A-Z\d]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_NOT_IN_NAMES = re.compile(r"[\W_]+")
COMMON_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """a about all an and any are as at be but by can could did do does each for from had has
    have how if in into is it its may more most not of on one or our over should so some such than
    that the their them then there these they this to two under was were what when where which who
    whose why will with would you your""",
    )
)
_WORD = re.compile(r"[^\W_]+")
_RUN = re.compile(r"[A-Za-z0-9\u0080-\U0010ffff]+")
_UNSEEN = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]")
"""What stands inside a word without being seen: soft hyphens, joiners, byte order marks."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of a passage in all of their forms, and the words that they are made of.

    Both hold each once, in order; ``words`` stand between blanks. Among them, in small letters,
    are the words that touch a character beyond ASCII: a database in the locale C folds no such
    letters, and takes quotation marks and dashes of that kind for letters of the word.
    """

    names: tuple[str, ...]
    words: str


def names_of(text: str) -> Names:
    """Return the names in a passage."""
    names: dict[str, None] = {}
    words: dict[str, None] = {}
    for token in dict.fromkeys(_tokens(text)):
        forms, parts = _unfolded(token)
        names.update(forms)
        words.update(parts)
    if not text.isascii():
        words.update(dict.fromkeys(filter(_is_usable, _words_beyond_ascii(text))))
    return Names(names=tuple(names), words=" ".join(words))


def _words_beyond_ascii(text: str) -> Iterator[str]:
    """Yield the words that touch such a character, composed (NFC)."""
    for run in _RUN.findall(text):
        if not run.isascii():
            composed = _UNSEEN.sub("", unicodedata.normalize("NFC", run))
            yield from (word.casefold() for word in _WORD.findall(composed))


def name_keys(question: str) -> frozenset[str]:
    """Return what :func:`names_asked` finds written as a name, without the runs of plain words."""
    found: set[str] = set()
    for token in _tokens(question):
        found.add(_key(token.whole))
        found.add(joined(token.core))
    return frozenset(name for name in found if _is_usable(name))


def written_names(text: str) -> tuple[str, ...]:
    """Return the names in a text whole and as they are written, each once, in order."""
    found = dict.fromkeys(token.whole for token in _tokens(text))
    return tuple(name for name in found if _is_usable(name))


def names_asked(question: str) -> tuple[str, ...]:
    """Return the names that a question may mean: of each token that is one, and of word runs.

    The form is the joined one, and the written one where joining leaves next to nothing
    (``C++``, ``-o``). Runs hold no common words.
    """
    found: dict[str, None] = {}
    for token in _tokens(question):
        found[_key(token.whole)] = None
        found[joined(token.core)] = None
    words = _WORD.findall(question.casefold())
    for length in range(2, LONGEST_RUN + 1):
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            if COMMON_WORDS.isdisjoint(run):
                found["".join(run)] = None
    return tuple(name for name in found if _is_usable(name))


def _is_usable(name: str) -> bool:
    """A single letter or digit names nothing; a surrogate cannot be stored."""
    return 1 < len(name) <= LONGEST_NAME and not _SURROGATE.search(name)


def joined(name: str) -> str:
    """Return a name without anything but letters and digits, in folded case."""
    return _NOT_IN_NAMES.sub("", name.casefold())


def _key(name: str) -> str:
    bare = joined(name)
    return bare if len(bare) >= _SHORTEST_JOINED else name.casefold()


class _Token(NamedTuple):
    """What is written like a name, taken apart; a part that it lacks is empty."""

    prefix: str
    core: str
    suffix: str
    call: str

    @property
    def whole(self) -> str:
        """The name as written, without the brackets of a call."""
        return self.prefix + self.core + self.suffix


def _tokens(text: str) -> Iterator[_Token]:
    """Yield what is written like a name, each as often as it occurs."""
    for match in _TOKEN.finditer(text):
        token = _Token._make(match.groups(""))
        if _is_name(token):
            yield token


@lru_cache(maxsize=_REMEMBERED)
def _is_name(token: _Token) -> bool:
    core = token.core
    return len(core) <= _LONGEST_TOKEN and bool(
        token.prefix
        or token.suffix
        or token.call
        or _JOINT.search(core)
        or _COMPOUND.search(core)
        or _CAPITALS.fullmatch(core)
    )


@lru_cache(maxsize=_REMEMBERED)
def _unfolded(token: _Token) -> tuple[dict[str, None], dict[str, None]]:
    """Return the forms of a name and the words in it, each once; a site repeats its names."""
    pieces = (part for segment in _segments(token) for part in segment.split("_"))
    words = (word.casefold() for piece in pieces for word in _PIECE.findall(piece))
    forms = dict.fromkeys(filter(_is_usable, _forms(token)))
    return forms, dict.fromkeys(filter(_is_usable, words))


def _segments(token: _Token) -> list[str]:
    return [*_JOINT.split(token.core)[:_MOST_SEGMENTS], *_WORD.findall(token.suffix)]


def _forms(token: _Token) -> Iterator[str]:
    yield token.whole.casefold()
    yield _key(token.whole)
    yield joined(token.core)
    segments = _JOINT.split(token.core)[:_MOST_SEGMENTS]
    for start in range(1, len(segments)):
        yield joined("".join(segments[start:]))
        yield joined("".join(segments[start:]) + token.suffix)
    for end in range(2, len(segments)):
        yield joined("".join(segments[:end]))
    for segment in _segments(token):
        yield joined(segment)
