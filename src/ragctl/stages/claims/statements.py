"""An answer split into asserting sentences and the passages each cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ragctl.stages.bibliography import without_bibliography
from ragctl.stages.borders import opens_sentence, split_sentences
from ragctl.stages.citations import find_marks
from ragctl.stages.claims.passages import FENCE, HEADING, ITEM
from ragctl.stages.claims.words import plain_text, stopwords, words_of
from ragctl.stages.refusals import declines

_LEADING_MARKS: Final = re.compile(r"^(?:[\[【［][^\]】］\n]{1,40}[\]】］][.,;]?\s*)+(?!\()")
_YES_OR_NO: Final = re.compile(
    r"^\s*(?:yes|yeah|yep|no|nope|correct|indeed|exactly|sure|certainly|absolutely|of course)"
    r"\s*(?:@\s*)*(?:[,:;!.]|[—–-]{1,2}(?=\s))\s*(?=\S)",
    re.I,
)
_PREFACE: Final = re.compile(
    r"^(?:so,? |overall,? |therefore,? |in summary,? |however,? )?(?:according to|based on|as "
    r"(?:described|stated|mentioned|explained) in|as per|in|from)\s+(?:the\s+)?"
    r"(?:provided |given )?"
    r"(?:passages?|sources?|context|text)?\s*(?:@\s*)*,\s*",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """An asserting sentence as written, and the passages cited in it or directly after it."""

    text: str
    cites: tuple[int, ...]


def statements_of(text: str, *, passages: int) -> tuple[Statement, ...]:
    """Split an answer into asserting sentences with the passages each cites.

    Left out are headings, code, questions, lead-ins that end with a colon, sentences that say what
    the passages do not say, and a list of sources at the end. Items of a list without numbers have
    those of its lead-in.
    """
    found: list[Statement] = []
    lead: tuple[int, ...] = ()
    for block, is_item in _blocks(without_bibliography(text)):
        if not is_item:
            lead = ()
        for sentence in _sentences(block):
            cites = tuple(
                dict.fromkeys(n for m in find_marks(sentence, passages=passages) for n in m.numbers)
            )
            if sentence.rstrip("*_ ").endswith(":"):
                lead = cites
            elif _asserts(sentence):
                own = cites or (lead if is_item else ())
                found.append(Statement(text=sentence, cites=own))
    return tuple(found)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs and list items outside code and headings; true for an item."""
    lines: list[str] = []
    is_item = in_code = False
    for line in [*text.split("\n"), ""]:
        fence = bool(FENCE.match(line))
        starts = bool(ITEM.match(line))
        breaks = not line.strip() or line.lstrip().startswith("|")
        if lines and (fence or starts or breaks or HEADING.match(line)):
            yield " ".join(lines), is_item
            lines.clear()
        in_code ^= fence
        if fence or in_code or breaks or HEADING.match(line):
            continue
        if not lines:
            is_item = starts
        lines.append(ITEM.sub("", line).strip().lstrip("> "))


def _sentences(block: str) -> list[str]:
    """Split a block; a citation before what opens a sentence belongs to the sentence before."""
    found: list[str] = []
    for piece in split_sentences(block):
        ahead = _LEADING_MARKS.match(piece)
        if ahead and found and opens_sentence(piece[ahead.end() :]):
            found[-1] += " " + ahead.group().strip()
            piece = piece[ahead.end() :]
        if piece.strip():
            found.append(piece.strip())
    return found


def _asserts(sentence: str) -> bool:
    bare = without_marks(sentence)
    if bare.rstrip("*_\"”' ").endswith("?") or declines(sentence):
        return False
    words = set(words_of(without_opening(plain_text(bare)))) - stopwords()
    return len(words) >= _FEWEST_WORDS


_FEWEST_WORDS: Final = 2


def without_opening(plain: str) -> str:
    """Return a sentence without a ``Yes`` or ``No`` and an ``In passage 2`` at its beginning."""
    return _PREFACE.sub("", _YES_OR_NO.sub("", plain))


def without_marks(sentence: str) -> str:
    """Return a sentence with ``@`` in the place of each citation."""
    for mark in reversed(list(find_marks(sentence, passages=1000))):
        sentence = f"{sentence[: mark.start]} @ {sentence[mark.end :]}"
    return sentence
