"""What is kept between processes for the models that write: places, turns, faults."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit:
    """Whether a route, or a user, may ask now; ``is_probe`` where it is the one let through.

    ``seconds_left`` is the time until the next question may go, 0 where this one may.
    """

    may_go: bool
    is_probe: bool = False
    seconds_left: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A question's place in front of the models: whether it may go, who ahead waits or works."""

    is_taken: bool
    waiting: int = 0
    working: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """How a route has fared of late, for all who share the database.

    ``seconds_open`` is ``None`` while the breaker is closed; ``seconds_left`` counts down to the
    next probe. ``failures`` are those in a row.
    """

    route: str
    failures: int
    seconds_open: float | None
    seconds_left: float
    is_probing: bool
    last_error: str
    updated_at: datetime | None = None

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """``half-open`` once the next question may probe the route, or one does."""
        if self.seconds_open is None:
            return "closed"
        return "half-open" if self.is_probing or self.seconds_left <= 0 else "open"
