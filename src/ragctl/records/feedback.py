"""What a person said of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What somebody said of an answer; question and answer are ``None`` where they were not kept.

    ``cited`` are the places that the answer cites: page, and section if there is one.
    """

    trace_id: str
    good: bool
    note: str
    at: datetime
    question: str | None = None
    answer: str | None = None
    cited: tuple[tuple[str, str | None], ...] = ()
