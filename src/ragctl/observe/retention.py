"""Which traces keep their texts, and for how long."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.traces import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long traces are kept, and the texts of which.

    0 days mean for ever. ``sample`` is the share of ordinary answers that keep their texts; an
    answer is no ordinary one where it took more than ``slow_ms``, has a problem, refused or broke
    off, and neither is a failure.
    """

    keeps_texts: bool = True
    keep_days: int = 90
    keep_text_days: int = 30
    sample: float = 1.0
    slow_ms: float = 10_000.0

    def keeps_texts_of(self, trace: Trace) -> bool:
        """Return whether a trace keeps its texts."""
        if not self.keeps_texts:
            return False
        is_telling = (
            trace.error_code is not None
            or trace.refused
            or bool(trace.problems)
            or trace.finish in ("torn", "repetition")
            or (trace.timings.total or 0.0) > self.slow_ms
        )
        return is_telling or is_sampled(trace.id, self.sample)


def is_sampled(trace_id: str, share: float) -> bool:
    """Return whether a trace belongs to the share, 0 to 1: the same id always does or does not.

    What belongs to a share belongs to every larger one.
    """
    number = int.from_bytes(hashlib.sha256(trace_id.encode("ascii")).digest()[:8], "big")
    return number < share * 2**64
