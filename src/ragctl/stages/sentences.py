"""Sentences that can be quoted, taken from markdown, and the stems of their words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ragctl.stages.code_spans import (
    spans_in_lines,
    with_hidden_code,
    without_code_spans,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST_SENTENCE_CHARS: Final = 420
SHORTEST_SENTENCE_WORDS: Final = 4
_LONGEST_ENDING: Final = 60
# Characters of scripts that put no blanks between words; the inside of a class of a pattern.
CJK: Final = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_STOPWORDS: Final = frozenset(
    re.findall(
        r"\S+",
        "a about after all also am an and any are as at be because been before being between both "
        "but by can could did do does doing don't each for from get gets give go had has have "
        "having he her here him his how i if in into is it its itself just let me more most much "
        "must my no nor not of off on once one only or other our out over own same she should so "
        "some such tell than that the their them then there these they thing things this those "
        "through to too under until up us use used using very was way we were what when where "
        "which while who whom why will with without would you your explain describe happen "
        "happens mean means work works ",
    )
)
_WORD: Final = re.compile(rf"[{CJK}]|[^\W{CJK}][^\W{CJK}'’]*")
_NAME_PART: Final = re.compile(r"[^\W_]+")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|fig|figs|eq|sec|no|nos|dr|mr|mrs|ms|prof|inc|ltd|al|st"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)|\b[A-Z])\.$",
    re.I,
)
_SENTENCE_BORDER: Final = re.compile(
    r"(?<=[.!?])[\"'”’)\]*_]*\s+(?=[\"'“‘(\[`*_]*[A-Z0-9`])|(?<=[。！？])"
)
_CITATION_LIKE: Final = re.compile(r"\s?\[\^?\d+(?:\s*[,–-]\s*\d+)*\](?!\()")
# A link whose definition stands elsewhere on the page; not an index such as dp[i][j].
_REFERENCE_LINK: Final = re.compile(r"(?<![\w\])}$])\[([^\[\]]{3,})\]\[[^\[\]]*\]")
_FENCE_LINE: Final = re.compile(r"^[ ]{0,3}(```+|~~~+)[ \t]*([^`\n]*)$", re.M)
_NOISE: Final = re.compile(
    r"^(see also|source|sources|read more|click|table of contents|edit this|next|previous|note that"
    r"|in this (chapter|section|post|article|page)|for (more|further)|back to|contents|figure \d"
    r"|image|credit|todo|by default,? see)\b",
    re.I,
)


@lru_cache(maxsize=1)
def markdown_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def without_torn_fence(body: str) -> str:
    """Drop the part of a fence that a chunker has cut open, at either end of the passage."""
    fences = list(_FENCE_LINE.finditer(body))
    if len(fences) % 2 == 0:
        return body
    # The closing line of a fence has no language: then what stands before it is code.
    if not fences[0].group(2).strip() and not _reads_as_prose(body[: fences[0].start()]):
        return body[fences[0].end() :]
    return body[: fences[-1].start()]


def _reads_as_prose(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    marks = sum(line.rstrip().endswith((";", "{", "}", ")", ",")) for line in lines)
    return bool(lines) and marks * 4 < len(lines)


def flat(token: Token) -> str:
    """Return the text of an inline token: links and emphasis reduced to their words."""
    return " ".join(flat_lines(token))


def flat_lines(token: Token) -> list[str]:
    """Return the lines of an inline token as :func:`flat` does the whole; none is empty."""
    lines: list[list[str]] = [[]]
    for child in token.children or ():
        if child.type in ("text", "html_inline"):
            lines[-1].append(child.content)
        elif child.type == "code_inline":
            lines[-1].append(f"`{child.content}`")
        elif child.type in ("softbreak", "hardbreak"):
            lines.append([])
    texts = (" ".join("".join(parts).split()) for parts in lines)
    bare = (re.sub(r"^\[!\w+\]\s*", "", text) for text in texts)
    clean = (_outside_code(text, _without_brackets) for text in bare)
    return [text for text in clean if text]


def _without_brackets(text: str) -> str:
    return _CITATION_LIKE.sub("", _REFERENCE_LINK.sub(r"\1", text))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for span in spans_in_lines(text):
        parts += [change(text[end : span.start]), text[span.start : span.end]]
        end = span.end
    return "".join([*parts, change(text[end:])])


def split_sentences(text: str) -> list[str]:
    """Split a paragraph into sentences; not inside code spans, not after abbreviations."""
    hidden = with_hidden_code(text)
    sentences, start = [], 0
    for border in _SENTENCE_BORDER.finditer(hidden):
        before = hidden[max(start, border.start() - _LONGEST_ENDING) : border.start()]
        if not _ABBREVIATION.search(before.rstrip("\"'”’)]*_")):
            sentences.append(text[start : border.end()].strip())
            start = border.end()
    return [s for s in [*sentences, text[start:].strip()] if s]


def is_whole(sentence: str, *, item: bool = False) -> bool:
    """Whether a sentence can be quoted: not a fragment, a label, a listing or boilerplate."""
    bare = without_code_spans(sentence, replacement="x")
    words = _WORD.findall(bare)
    letters = sum(character.isalpha() or character.isspace() for character in bare)
    if len(sentence) > LONGEST_SENTENCE_CHARS or letters < 0.7 * len(bare):
        return False
    cjk = len(re.findall(f"[{CJK}]", bare))
    if len(words) < SHORTEST_SENTENCE_WORDS or sentence.endswith("?") or _NOISE.match(sentence):
        return False
    start = sentence.lstrip("\"'“‘(*_")[:1]
    if item:
        return len(words) >= SHORTEST_SENTENCE_WORDS + 1
    return bool(cjk) or (not start.islower() and sentence.rstrip("\"'”’)*_")[-1:] in ".!")


def stems(text: str, *, without_stopwords: bool = False) -> frozenset[str]:
    """Return the stems of a text's words; identifiers count whole and by their parts."""
    return frozenset(stemmed(text, without_stopwords=without_stopwords))


def stemmed(text: str, *, without_stopwords: bool = False) -> list[str]:
    """Return the stems of a text's words in order; parts follow the identifier they are of."""
    found = []
    for word in _WORD.findall(text.lower()):
        if without_stopwords and word in _STOPWORDS:
            continue
        found.append(_stem(word))
        if "_" in word:
            found += (_stem(part) for part in _NAME_PART.findall(word))
    return found


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """Cut common English endings; light, after Harman's S stemmer, with -ed, -ing and -ly."""
    word = re.sub(r"['’]s?$", "", word)
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ingly", "edly", "ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word
