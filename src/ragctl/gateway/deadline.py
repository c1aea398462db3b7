"""How the time of one question is shared between the routes to its answer.

The rule: a route may use what is left of the budget, less the least that every later route needs
(its time to connect and to the first token). So however a route hangs, each one after it still
gets its least, and one that fails early leaves what it did not use. Settings whose budget is
smaller than all of these together are refused; should less be left all the same, it is shared in
proportion to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds to connect, to the first token after that, and in all."""

    connect_seconds: float
    first_token_seconds: float
    total_seconds: float

    @property
    def least_seconds(self) -> float:
        """What it takes to see whether a route answers."""
        return min(self.connect_seconds + self.first_token_seconds, self.total_seconds)

    def within(self, seconds: float) -> Deadlines:
        """Return deadlines that end in so many seconds at the latest.

        Connecting and waiting for the first token are shortened alike, so that both together
        never take longer than the whole.
        """
        total = min(self.total_seconds, seconds)
        both = self.connect_seconds + self.first_token_seconds
        share = min(1.0, total / both)
        return Deadlines(
            connect_seconds=self.connect_seconds * share,
            first_token_seconds=self.first_token_seconds * share,
            total_seconds=total,
        )


def share_of(
    route: Deadlines, later: Sequence[Deadlines], *, left_seconds: float
) -> Deadlines | None:
    """Return the deadlines of the route whose turn it is; ``None`` where no time is left."""
    if left_seconds <= 0:
        return None
    reserved = sum(one.least_seconds for one in later)
    needed = route.least_seconds + reserved
    if left_seconds >= needed:
        return route.within(left_seconds - reserved)
    return route.within(left_seconds * route.least_seconds / needed)
