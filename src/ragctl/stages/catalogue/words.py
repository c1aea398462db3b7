"""Questions and titles as plain words, so that both can be compared word by word."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

Words = tuple[str, ...]

ARTICLES: Final = frozenset(("the", "a", "an"))
_WORD: Final = re.compile(r"[^\W_]+(?:\+\+|#(?!\w))?")
_SHORT_FORMS: Final = (
    (re.compile(r"\b(what|which|where|who|how|that|there|it)'s\b"), r"\1 is"),
    (re.compile(r"\b(what|who|how)'re\b"), r"\1 are"),
    (re.compile(r"\bi'm\b|\bim\b"), "i am"),
    (re.compile(r"\b(i|you|we)'ve\b"), r"\1 have"),
    (re.compile(r"\b(i|we)'d\b"), r"\1 would"),
    (re.compile(r"'s\b"), ""),
    (re.compile(r"'"), ""),
)
_CARDINALS: Final = "one two three four five six seven eight nine ten eleven twelve"
_ORDINALS: Final = "second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"

NUMBER: Final = rf"(?:\d{{1,4}}|{_CARDINALS.replace(' ', '|')})"
"""A pattern of the numbers that :func:`number_of` reads."""

ORDINAL: Final = rf"(?:\d{{1,3}}(?:st|nd|rd|th)|{_ORDINALS.replace(' ', '|')})"
"""A pattern of the ordinals that :func:`number_of` reads, without the first."""


def word_set(words: str) -> frozenset[str]:
    """Return the words of a string as a set."""
    return frozenset(words.split())


def words_of(text: str) -> Words:
    """Return the words of a text: case folded, short forms written out, punctuation gone."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    for pattern, plain in _SHORT_FORMS:
        folded = pattern.sub(plain, folded)
    return tuple(_WORD.findall(folded))


def stem(word: str) -> str:
    """Return a word without its plural ending; nothing else is cut, for titles are names."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def stems_of(words: Words) -> Words:
    """Return the words without plural endings and articles."""
    return tuple(stem(word) for word in words if word not in ARTICLES)


def number_of(text: str) -> int | None:
    """Return the number that a word or an ordinal stands for, ``None`` where it is none."""
    digits = re.fullmatch(r"(\d{1,4})(?:st|nd|rd|th)?", text)
    if digits:
        return int(digits[1])
    for names, first in ((_CARDINALS.split(), 1), (_ORDINALS.split(), 2)):
        if text in names:
            return names.index(text) + first
    return None


def contains(words: Words, phrase: Words) -> bool:
    """Whether a phrase stands in words, side by side and in order."""
    return bool(phrase) and f" {' '.join(phrase)} " in f" {' '.join(words)} "
