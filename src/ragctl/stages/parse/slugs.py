"""Anchors of headings by GitHub's rules.

The rule, as published by the ``github-slugger`` package: lower-case the text, drop every
character that is neither alphabetic, a mark, a decimal digit, a connector (``_``), a hyphen nor a
blank, and write each blank as a hyphen. A second heading of the same slug gets ``-1``, then
``-2``; a number that another heading already took is skipped.
"""

from __future__ import annotations

import re
import unicodedata

_ASCII_DROPPED = re.compile(r"[^0-9A-Za-z_ -]+")
_KEPT_CATEGORIES = frozenset(("Ll", "Lu", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"))
# Symbols that Unicode calls alphabetic: circled, squared and boxed Latin letters.
_ALPHABETIC_SYMBOLS = (
    (0x24B6, 0x24E9),
    (0x1F130, 0x1F149),
    (0x1F150, 0x1F169),
    (0x1F170, 0x1F189),
)


def _is_kept(character: str) -> bool:
    if character in " -" or unicodedata.category(character) in _KEPT_CATEGORIES:
        return True
    code = ord(character)
    return any(low <= code <= high for low, high in _ALPHABETIC_SYMBOLS)


def slug(label: str) -> str:
    """Return the anchor of one heading, without regard to the others of its page."""
    lowered = label.lower()
    if lowered.isascii():
        kept = _ASCII_DROPPED.sub("", lowered)
    else:
        kept = "".join(character for character in lowered if _is_kept(character))
    return kept.replace(" ", "-")


class GitHubSlugger:
    """Hands out the anchors of one page; a new page needs a new one."""

    def __init__(self) -> None:
        self._counters: dict[str, int] = {}

    def slug(self, label: str) -> str:
        """Return the anchor of the next heading: never one that was handed out before."""
        base = slug(label)
        candidate = base
        while candidate in self._counters:
            self._counters[base] += 1
            candidate = f"{base}-{self._counters[base]}"
        self._counters[candidate] = 0
        return candidate

    def take(self, anchor: str) -> bool:
        """Reserve an anchor that the author wrote; return whether it was still free."""
        if anchor in self._counters:
            return False
        self._counters[anchor] = 0
        return True
