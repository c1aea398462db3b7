"""Where one sentence of an answer or a passage ends and the next begins.

A full stop ends a sentence before a capital of any script, before a letter of a script without
capitals, a digit, code, or an identifier in small letters (``tryConsume``, ``bpf_map``,
``free()``). One beside a citation ends it before anything. Code spans and abbreviations end none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ragctl.stages.code_spans import with_hidden_code

_MARK: Final = r"[\[【［][^\[\]【】［］\n]{0,30}\d[^\[\]【】［］\n]{0,12}[\]】］](?!\()"
_CLOSING: Final = r"[\"'”’)*_]*"
_BORDER: Final = re.compile(
    rf"(?<=[.!?]){_CLOSING}(?P<marks>(?:{_MARK})*)\s+"
    rf"(?=(?P<mark>{_MARK})|(?P<opening>[\"'“‘«¿¡(\[【`*_]*)(?P<first>\w))"
    r"|(?<=[。！？])"
)
_CITED: Final = re.compile(rf"[\]】］]{_CLOSING}[.!?]$")
_CITATION: Final = re.compile(rf"(?:\s*{_MARK}{_CLOSING})+$")
_IDENTIFIER: Final = re.compile(r"[a-z][a-z\d]*+(?:[\w:.>-]*[A-Z_]|[\w:.>-]*\(|_)")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|fig|eq|sec|no|dr|mr|mrs|ms|inc|al|st)|\b[^\W\d_])\.$",
    re.I,
)
_LONGEST_ENDING: Final = 60
_LONGEST_OPENING: Final = 80


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a paragraph, citations that touch a full stop with what they end."""
    hidden = with_hidden_code(text)
    found, start = [], 0
    for end in _borders(hidden):
        found.append(text[start:end].strip())
        start = end
    return [piece for piece in (*found, text[start:].strip()) if piece]


def opens_sentence(text: str) -> bool:
    """Whether a text begins as a sentence does: not with an ordinary word in small letters."""
    return not text[:1].islower() or bool(_IDENTIFIER.match(text))


def _borders(hidden: str) -> Iterator[int]:
    start = 0
    for border in _BORDER.finditer(hidden):
        stop = border.start()
        ending = hidden[max(start, stop - _LONGEST_ENDING) : stop].rstrip("\"'”’)*_")
        if _ABBREVIATION.search(ending):
            continue
        first = border.start("first")
        opening = hidden[first : first + _LONGEST_OPENING]
        if border["marks"] or border["mark"] or border["first"] is None:
            is_border = True
        elif _CITED.search(ending):
            before = _CITATION.sub("", ending[:-1])
            is_border = opens_sentence(opening) or not (_ABBREVIATION.search(before))
        else:
            is_border = opens_sentence(opening)
        if is_border:
            yield border.end()
            start = border.end()
