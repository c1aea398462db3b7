"""What a cache is looked up by: a question in its normal form, and all else that decides."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Final

_KEEPS_ITS_CASE: Final = re.compile(r"(`[^`]+`|(?<!\S)--?\w[\w-]*)")
_MARKS_AT_THE_END: Final = re.compile(r"[\s?!.,;:…。？！]+$")
_RAISED: Final = ("<super>", "<sub>", "<fraction>")


def normalised(question: str) -> str:
    """Return a question without what does not change it: case, blanks, marks at its end.

    Unicode is brought to NFKC, but for raised, lowered and broken numbers: ``10²`` is not 102. The
    case of options and of what stands between backticks stays: ``-o`` is not ``-O``.
    """
    composed = "".join(map(_composed, unicodedata.normalize("NFC", question)))
    text = " ".join(unicodedata.normalize("NFC", composed).split())
    parts = _KEEPS_ITS_CASE.split(_MARKS_AT_THE_END.sub("", text) or text)
    return "".join(
        part if place % 2 else part.casefold() for place, part in enumerate(parts)
    ).strip()


def _composed(character: str) -> str:
    if unicodedata.decomposition(character).startswith(_RAISED):
        return character
    return unicodedata.normalize("NFKC", character)


def hash_of(text: str) -> str:
    """Return the sha256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def scope_of(parts: Mapping[str, object]) -> str:
    """Return the sha256 of named values that decide on an answer, whatever their order."""
    return hash_of(json.dumps({name: str(value) for name, value in parts.items()}, sort_keys=True))
