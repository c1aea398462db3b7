"""Whether a vector that a model sent can be compared with others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragctl.records.vectors import Vector

_SHORTEST: Final = 1e-18
_LONGEST: Final = 1e18
"""pgvector adds up squares as float32: beyond these lengths they are zero or infinite, and every
cosine of such a vector is NaN."""


def fault_of(vector: Vector) -> str:
    """Return in a few words why no cosine of a vector can be computed; empty where it can."""
    length = math.hypot(*vector)
    if not math.isfinite(length):
        return "NaN or infinity in a vector"
    if length == 0:
        return "a vector of zeros"
    if not _SHORTEST < length < _LONGEST:
        return f"a vector of length {length:.0e}, whose cosine cannot be computed"
    return ""
