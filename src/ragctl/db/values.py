"""Between our values and the driver's: float32 arrays, and JSON that every encoding can hold."""

from __future__ import annotations

import json
import re
import struct
import sys
import unicodedata
from array import array
from typing import TYPE_CHECKING

from pgvector import Vector as PgVector

if TYPE_CHECKING:
    from ragctl.records.vectors import Vector

_HEAD = struct.Struct(">HH")  # dimensions, then two bytes without meaning
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_UNSEEN = re.compile("[\u00ad\u200c\u200d\u2060\ufeff]")
_APART = re.compile(r"[^\w\x00-\x7f]")


def to_database(vector: Vector) -> PgVector:
    """Wrap a vector so that the driver sends it in binary; its numbers are copied as bytes."""
    return PgVector.from_binary(_HEAD.pack(len(vector), 0) + _big_endian(vector).tobytes())


def from_database(value: PgVector) -> Vector:
    """Return the float32 array of a vector read from the database."""
    numbers = array("f")
    numbers.frombytes(value.to_binary()[_HEAD.size :])
    return _big_endian(numbers)


def _big_endian(numbers: Vector) -> Vector:
    """Return numbers of this machine in the order of the wire, or the reverse."""
    swapped = array("f", numbers)
    if sys.byteorder == "little":
        swapped.byteswap()
    return swapped


def storable(text: str) -> str:
    """Return a text with NUL and lone surrogates, which no column holds, as U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def searchable(text: str) -> str:
    """Return a question as its words are looked up: composed (NFC), in small letters.

    What is beyond ASCII and no letter becomes a blank, for the parser of a database in the locale C
    takes quotation marks and dashes of that kind for letters; soft hyphens and joiners go.
    """
    composed = _UNSEEN.sub("", unicodedata.normalize("NFC", storable(text)))
    return _APART.sub(" ", composed.casefold())


def to_json(value: object) -> str:
    """Return JSON with its characters as they are: a SQL_ASCII database refuses escapes."""
    return json.dumps(value, ensure_ascii=False)


def to_storable_json(value: object) -> str:
    """Return JSON whose texts, at any depth, can be stored; see :func:`storable`."""
    return to_json(_storable_throughout(value))


def _storable_throughout(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {name: _storable_throughout(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_throughout(inner) for inner in value]
    return value
