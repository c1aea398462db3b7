"""The list of sources that a model puts under its answer of its own accord: it states nothing."""

from __future__ import annotations

import re
from typing import Final

_LABEL: Final = re.compile(
    r"[\s#>*_]*(?:(?:the )?(?:cited |used )?(?:sources?|references?|citations?|bibliography)"
    r"(?: (?:used|cited))?|works cited|footnotes|further reading)[\s*_]*(?P<colon>:?)[\s*_]*"
    r"(?P<rest>.*)",
    re.I,
)
_BULLET: Final = re.compile(r"[\s>]*(?:[-*+•]|\d{1,3}[.)])\s+")
_MARK: Final = re.compile(
    r"[\s>*_]*+(?:[\[【［]\^?[^\]】］\n]{0,20}\d[^\]】］\n]{0,20}[\]】］][\s,;*_]*+)++:?"
)
_ADDRESS: Final = re.compile(r"https?://|\]\([^)\n]{1,600}\)|\bwww\.|\s/[\w-]+/[\w/#-]+")
_ADDRESSED: Final = re.compile(rf"(?:{_BULLET.pattern})?{_MARK.pattern}.*(?<=\s)https?://\S+\s*")
_SENTENCE: Final = re.compile(r"[.!?][\"'”’)*_]*$")
_LONGEST_TITLE_WORDS: Final = 8
_FEWEST_WORDS: Final = 5


def without_bibliography(text: str) -> str:
    """Return an answer without the list of sources at its end.

    It is a label (``Sources:``) with nothing but entries after it, or, without one, titles that
    begin with a citation and end with an address. A full sentence is no entry.
    """
    lines = text.split("\n")
    end = len(lines)
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place]
        if not line.strip():
            continue
        if label := _LABEL.fullmatch(line):
            rest = label["rest"]
            if not rest or (label["colon"] and _is_entry(rest, is_listed=False)):
                return "\n".join(lines[:place])
        if not _is_entry(line, is_listed=bool(_BULLET.match(line))):
            break
        if _ADDRESSED.fullmatch(line) and len(line.split()) <= _LONGEST_TITLE_WORDS:
            end = place
    return "\n".join(lines[:end]) if end < len(lines) else text


def _is_entry(line: str, *, is_listed: bool) -> bool:
    bullet = _BULLET.match(line)
    bare = line[bullet.end() :] if bullet else line
    mark = _MARK.match(bare)
    words = len((bare[mark.end() :] if mark else bare).split())
    is_sentence = bool(_SENTENCE.search(bare.strip()))
    if mark or _ADDRESS.search(bare):
        return not is_sentence or words < _FEWEST_WORDS
    return is_listed and words <= _LONGEST_TITLE_WORDS and not is_sentence
