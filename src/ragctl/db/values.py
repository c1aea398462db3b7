"""Between our values and the driver's: float32 arrays, and JSON that every encoding can hold."""

from __future__ import annotations

import json
import re
from array import array

from pgvector import Vector as PgVector

from ragctl.records import Vector

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def to_database(vector: Vector) -> PgVector:
    """Wrap a vector so that the driver sends it in binary."""
    return PgVector(vector.tolist())


def from_database(value: PgVector) -> Vector:
    """Return the float32 array of a vector read from the database."""
    return array("f", value.to_list())


def storable(text: str) -> str:
    """Return a text with NUL and lone surrogates, which no column holds, as U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def to_json(value: object) -> str:
    """Return JSON with its characters as they are: a SQL_ASCII database refuses escapes."""
    return json.dumps(value, ensure_ascii=False)
