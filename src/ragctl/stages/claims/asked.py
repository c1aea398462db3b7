"""A statement taken apart: what of it must stand in a passage, and how much each word counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Final

from ragctl.stages.claims.polarity import sides_of
from ragctl.stages.claims.statements import without_marks, without_opening
from ragctl.stages.claims.vocabulary import CALENDAR, FREE_NUMBERS, NOUNS_TOO, NUMBER_WORDS
from ragctl.stages.claims.words import (
    TOKEN,
    WORD,
    Clause,
    clauses_of,
    code_names,
    common_words,
    forms_of,
    joined,
    numbers_of,
    plain_text,
    squash,
    stem,
    stopwords,
)
from ragctl.stages.code_spans import spans_in_lines, without_code_spans

if TYPE_CHECKING:
    from ragctl.stages.claims.passages import Passage

_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{12,200})[\"”]")
_NAME_LIKE: Final = re.compile(
    r"[a-z\d][A-Z]|[A-Z]{2}|\w_\w|[^\W\d_]\d|\w::\w|^--?[a-z]|\w/\w|\+\+"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A statement taken apart."""

    words: tuple[str, ...]
    clauses: tuple[Clause, ...]
    content: tuple[str, ...]
    spoken: Mapping[str, str]
    numbers: Mapping[str, frozenset[float | str]]
    names: tuple[str, ...]
    code: tuple[str, ...]
    forms: frozenset[str]
    quotes: tuple[str, ...]
    parts: tuple[str, ...]
    sides: tuple[tuple[frozenset[str], frozenset[str]], ...]


def take_apart(text: str) -> Asked:
    """Take a statement apart; ``parts`` are found in the passage where it is copied from there."""
    plain = without_opening(plain_text(without_marks(text))).replace("@", " ")
    clauses = clauses_of(plain)
    words = tuple(chain.from_iterable(clauses))
    stopped = stopwords()
    spoken: dict[str, str] = {}
    for word in WORD.findall(plain.replace("_", " ")):
        spoken.setdefault(stem(word.lower()), word)
    numbers = numbers_of(plain)
    counting = frozenset(NUMBER_WORDS) - (NOUNS_TOO - FREE_NUMBERS - numbers.keys())
    content = tuple(
        dict.fromkeys(
            w
            for w in words
            if w not in stopped and not w.isdigit() and w not in counting and len(w) > 1
        )
    )
    return Asked(
        words=words,
        clauses=clauses,
        content=content,
        spoken=spoken,
        numbers=numbers,
        names=_names_of(plain),
        code=code_names(plain),
        forms=forms_of(plain),
        quotes=tuple(_QUOTED.findall(plain)),
        parts=tuple(squash(part) for part in re.split(r"[;:]\s", plain)),
        sides=sides_of(words),
    )


def _names_of(text: str) -> tuple[str, ...]:
    """Return the names in a statement: code, identifiers, words with capitals inside it."""
    found: dict[str, None] = {}
    for span in spans_in_lines(text):
        found.update(dict.fromkeys(t for t in TOKEN.findall(span.content) if not t.isdigit()))
    bare = without_code_spans(text, replacement=" ")
    done, before = 0, ""
    for match in TOKEN.finditer(bare):
        token = match.group()
        before = bare[done : match.start()].rstrip()[-1:] or before
        inner = match.start() > 0 and before not in (":", ".", '"')
        done, before = match.end(), token[-1]
        capital = inner and token[:1].isupper() and len(token) > 1
        capital &= token.lower() not in NUMBER_WORDS and token not in CALENDAR
        if _NAME_LIKE.search(token) or capital:
            found[token] = None
    return tuple(name for name in found if len(joined(name)) > 1)


def has_name(name: str, forms: frozenset[str]) -> bool:
    """Whether a name stands among forms, whole, in the singular or in all its parts."""
    whole = joined(name)
    if whole in forms or _single(whole) in forms:
        return True
    parts = [part.casefold() for part in re.split(r"\W+", name) if part]
    return len(parts) > 1 and all(part in forms or part.rstrip("s") in forms for part in parts)


def is_in(name: str, passage: Passage) -> bool:
    """Whether a passage has a name, if only within another one."""
    whole = joined(name)
    inside = len(whole) >= _LONG_NAME and _single(whole) in passage.squashed
    return inside or has_name(name, passage.forms)


_LONG_NAME: Final = 5


def _single(whole: str) -> str:
    return whole[:-1] if whole.endswith("s") and len(whole) > 3 else whole


def is_topic(name: str, passages: Sequence[Passage]) -> bool:
    """Whether most of the passages have a name: what all is about needs no saying in each."""
    held = sum(is_in(name, passage) for passage in passages)
    return held > max(1, len(passages) / 2)


def weights_of(asked: Asked, passages: Sequence[Passage]) -> dict[str, float]:
    """Return how much each content word counts: rare ones more, everyday ones less."""
    units = sum(len(passage.units) for passage in passages)
    weights = {}
    for word in asked.content:
        held = sum(len(passage.where.get(word, ())) for passage in passages)
        weights[word] = log(1 + units / (1 + held)) * (0.35 if word in common_words() else 1.0)
    return weights


def known_values(asked: Asked) -> frozenset[float | str]:
    """Return the values of all numbers of a statement."""
    return frozenset(value for values in asked.numbers.values() for value in values)
