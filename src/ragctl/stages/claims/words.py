"""What a text is compared by: stems, names, numbers, sentences."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from ragctl.stages.claims.vocabulary import (
    COMMON,
    NEGATIONS,
    NOUNS_TOO,
    NUMBER_WORDS,
    SCALES,
    SYNONYMS,
    listed,
)
from ragctl.stages.code_spans import spans_in_lines
from ragctl.stages.sentences import stems

WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER: Final = re.compile(
    r"(?<![\w.])\$?(?P<digits>0[xX][\da-fA-F]+|\d+(?:[,_]\d{3})*(?:\.\d+)*)"
    r"(?:[ -]?(?P<scale>thousand|million|billion|trillion|[kKMB](?![\w])))?"
)
TOKEN: Final = re.compile(r"--?[A-Za-z][\w-]*|[~./]?\w+(?:(?:->|::|[-./\\:@])+\w+)*(?:\+\+|#)?")
# The letters of the scripts that have capitals: Latin, Greek, Cyrillic, Armenian.
_CASED: Final = [chr(n) for n in (*range(0x41, 0x590), *range(0x1E00, 0x2000))]
_CAPITAL: Final = "".join(c for c in _CASED if c.isalpha() and c.isupper())
_SMALL: Final = "".join(c for c in _CASED if c.isalpha() and c.islower())
_PIECE: Final = re.compile(
    rf"[{_CAPITAL}]+(?![{_SMALL}])|[{_CAPITAL}]?[{_SMALL}]+|[^\W\d_{_CAPITAL}{_SMALL}]+"
    rf"|\d+"
)
_CAPITALISED: Final = re.compile(rf"[{_CAPITAL}]\w{{1,60}}+(?:[ -][{_CAPITAL}]\w{{1,60}}+){{1,4}}")
_LINK: Final = re.compile(
    r"!?\[([^\]\n]{0,300})\]\([^)\n]{0,600}\)|\[([^\]\n]{1,300})\]\[[^\]\n]{0,300}\]"
)
_MARKUP: Final = re.compile(
    r"\*\*|__|(?<!\w)[*_]|[*_](?!\w)"
    r"|</?(?:a|abbr|b|br|center|code|details|div|em|figure|h[1-6]|hr|i|img|kbd|li|ol|p|pre|q|s|small"
    r"|span|strong|sub|summary|sup|t[dhr]|table|u|ul)\b[^>\n]{0,200}>"
)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the shortest stem of a word, of several the first in order."""
    return min(stems(word), key=lambda found: (len(found), found), default=word)


@lru_cache(maxsize=1)
def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for number, group in enumerate(SYNONYMS):
        for word in group.split():
            found.setdefault(stem(word), []).append(f"={number}")
    return {word: tuple(groups) for word, groups in found.items()}


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Return the stems of everyday words, which count for less."""
    return frozenset(stem(word) for word in COMMON)


@lru_cache(maxsize=1)
def stopwords() -> frozenset[str]:
    """Return the stems of words that say nothing of their own, negations among them."""
    kept = "before after more most over under until once only same other no not nor between"
    words = listed(
        "a an the and or but if then than that this these those it its they them their there "
        "here he she his her we our you your i my me is are was were be been being am do does "
        "did doing has have had having will would can could should may might must shall of in "
        "on at to for from by with as into onto about through so such which who whom whose what "
        "when where why how while also just very too s t re ve ll d m each any some all both "
        "either not no nor own up out off "
    )
    stopped = frozenset(words) - frozenset(kept.split())
    return frozenset(map(stem, stopped)) | NEGATIONS


@lru_cache(maxsize=4096)
def _stems_of(word: str) -> tuple[str, ...]:
    pieces = _PIECE.findall(word) if not word.islower() else []
    whole = word.lower()
    found = [stem(piece.lower()) for piece in pieces if len(piece) > 1] if len(pieces) > 1 else []
    return (*found, whole if whole in NEGATIONS else stem(whole))


def words_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text in order; compound names are given whole and in parts."""
    words = WORD.findall(text.replace("_", " "))
    return tuple(stem for word in words for stem in _stems_of(word))


Clause = tuple[str, ...]
"""The stems of a clause in order, function words and negations included."""


def clauses_of(text: str) -> tuple[Clause, ...]:
    """Return the stems of a text clause by clause; one with a single word of content joins on."""
    found: list[Clause] = []
    stopped = stopwords()
    for piece in _CLAUSE_BORDER.split(_SET_PHRASE.sub(" ", text)):
        words = words_of(piece)
        bare = sum(word not in stopped for word in words) < 2 and NEGATIONS.isdisjoint(words)
        if bare and found:
            found[-1] += words
        elif words:
            found.append(words)
    return tuple(found)


_SET_PHRASE: Final = re.compile(
    r"\b(?:above all|after all|first of all|at first|at last|as long as|as soon as|right away)\b",
    re.I,
)
_CLAUSE_BORDER: Final = re.compile(
    r"[,;:()—–]\s|\s[—–-]{1,2}\s|\b(?=(?:but|because|since|although|though|whereas|while|if|unless"
    r"|when|whenever|which|who|until|so that|even)\b)",
    re.I,
)


@lru_cache(maxsize=8192)
def keys_of(word: str) -> tuple[str, ...]:
    """Return what a word is looked up by: itself, its groups of synonyms, its beginning."""
    prefix = (f"{word[:5]}…",) if len(word) >= 5 else ()
    return (word, *_synonyms().get(word, ()), *prefix)


_WORTH: Final = {"=": 0.85, "…": 0.75}


def worth_of(key: str) -> float:
    """Return how much a match by this key counts, 0 to 1."""
    return _WORTH.get(key[:1], _WORTH.get(key[-1:], 1.0))


@lru_cache(maxsize=16384)
def joined(name: str) -> str:
    """Return a name in the form in which names are compared; see :func:`squash`."""
    return squash(name)


def squash(text: str) -> str:
    """Return the letters and digits of a text, in folded case and without anything between."""
    return "".join(_LETTERS.findall(text)).casefold()


_LETTERS: Final = re.compile(r"[^\W_]+")


def numbers_of(text: str) -> dict[str, frozenset[float | str]]:
    """Return the numbers of a text as written, each with the values it may stand for."""
    found: dict[str, frozenset[float | str]] = {}
    for match in _NUMBER.finditer(text):
        digits = match["digits"].replace(",", "").replace("_", "").rstrip(".")
        values: set[float | str] = {digits.lower()}
        if digits.count(".") <= 1 and digits[:2].lower() != "0x":
            value = float(digits)
            values = {value} if digits[0] != "0" or "." in digits or digits == "0" else {digits}
            scale = (match["scale"] or "").strip().lower()
            if scale:
                values = {round(value * SCALES[scale], 6)}
        found[match.group().strip()] = frozenset(values)
    lowered = text.lower()
    for word in WORD.findall(lowered):
        if word in NUMBER_WORDS and (word not in NOUNS_TOO or _counts(lowered, word)):
            found.setdefault(word, frozenset({NUMBER_WORDS[word]}))
    return found


def _counts(text: str, word: str) -> bool:
    """Whether a word that may be a noun is a number: ``a quarter of``, not ``every quarter``."""
    parts = re.split(rf"\b{word}\b", text)
    for before, after in pairwise(parts):
        if word in _ORDINALS:
            counts = not _PARTY.match(after)
        else:
            is_of = _OF.match(after) and not _ORDINAL_BEFORE.search(before)
            counts = bool(is_of or _COUNTED.search(before + word))
        if counts:
            return True
    return False


_ORDINALS: Final = frozenset(listed("third fifth sixth tenth"))
_PARTY: Final = re.compile(r"[\s-]part(?:y|ies)\b|[\s-](?:person|world)\b")
_COUNTED: Final = re.compile(
    r"\b(?:one|two|three|four|five|\d+|(?:by|to) a)[\s-]\w+$|\b(?:by|in|into|to) hal(?:f|ves)$"
)
_OF: Final = re.compile(r"\s(?:of|the|a|an|as|its|their)\b")
_ORDINAL_BEFORE: Final = re.compile(
    r"\b(?:first|second|third|fourth|last|next|other|each|every)\s$"
)


@lru_cache(maxsize=2048)
def forms_of(text: str) -> frozenset[str]:
    """Return the names and words of a text in joined form, whole and in parts."""
    found: set[str] = set()
    for token in TOKEN.findall(text):
        if token.isalpha() and token.islower():
            found.add(token)
            continue
        found.add(joined(token))
        found.update(map(joined, re.split(r"\W+", token)))
        for part in re.split(r"[\W_]+", token):
            found.add(part.casefold())
            if not part.islower():
                found.update(piece.casefold() for piece in _PIECE.findall(part))
    found.update(form[:-1] for form in tuple(found) if form.endswith("s") and len(form) > 3)
    initials = _CAPITALISED.findall(text)
    found.update("".join(re.findall(r"\b\w", run)).casefold() for run in initials)
    return frozenset(found)


def plain_text(text: str) -> str:
    """Return a text without emphasis, tags and the targets of links; code spans stay."""
    if "[" in text:
        text = _LINK.sub(lambda match: match[1] or match[2] or "", text)
    if "`" not in text:
        return _without_markup(text)
    parts, end = [], 0
    for span in spans_in_lines(text):
        parts += [_without_markup(text[end : span.start]), text[span.start : span.end]]
        end = span.end
    return "".join((*parts, _without_markup(text[end:])))


def _without_markup(text: str) -> str:
    return _MARKUP.sub("", text) if "*" in text or "_" in text or "<" in text else text


@lru_cache(maxsize=2048)
def values_in(text: str) -> frozenset[float | str]:
    """Return the values of all numbers of a text."""
    return frozenset(value for known in numbers_of(text).values() for value in known)


@lru_cache(maxsize=2048)
def code_names(text: str) -> tuple[str, ...]:
    """Return what stands between backticks, where it is one name."""
    spans = (span.content for span in spans_in_lines(text))
    return tuple(span for span in spans if re.fullmatch(r"[A-Za-z_][\w:.-]*(?:\(\))?", span))
