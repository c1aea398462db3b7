"""An ingest gives way to questions: it pauses between batches while somebody asks.

Bounded: pauses take half as long as the work between them at most, so an ingest never takes more
than half as long again, however many questions come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

SHARE: Final = 0.5
STEP_SECONDS: Final = 0.25
LONGEST_PAUSE_SECONDS: Final = 10.0


class GivingWay:
    """Called between two batches, it returns once work may go on.

    ``is_busy`` tells whether somebody asks; it is looked at once a batch where nobody does.
    """

    def __init__(
        self,
        is_busy: Callable[[], bool],
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._is_busy = is_busy
        self._clock = clock
        self._sleep = sleep
        self._since = clock()
        self._credit_seconds = 0.0
        self.paused_seconds = 0.0

    def __call__(self) -> None:
        """Pause while somebody asks, as long as the work done allows."""
        worked = self._clock() - self._since
        self._credit_seconds = min(self._credit_seconds + worked * SHARE, LONGEST_PAUSE_SECONDS)
        while self._credit_seconds >= STEP_SECONDS and self._is_busy():
            began = self._clock()
            self._sleep(STEP_SECONDS)
            paused = self._clock() - began
            self._credit_seconds -= paused
            self.paused_seconds += paused
        self._since = self._clock()
