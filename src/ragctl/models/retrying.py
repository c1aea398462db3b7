"""What may clear is tried again: the same for every server that embeds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from ragctl.errors import ModelError

FIRST_WAIT_SECONDS: Final = 0.2

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """Tries ``retries`` times again, after about 0.2 s and then twice as long each time.

    Waits are spread from half to one and a half of that, so that several who failed together do
    not come back together. ``sleep`` and ``chance`` (0 to 1) are handed in.
    """

    retries: int = 2
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def call(self, once: Callable[[], Found], *, may_clear: Callable[[ModelError], bool]) -> Found:
        """Return what ``once`` returns; the error of the last try is raised."""
        tries = 0
        while True:
            try:
                return once()
            except ModelError as error:
                if tries >= self.retries or not may_clear(error):
                    raise
            self.sleep(FIRST_WAIT_SECONDS * 2**tries * (0.5 + self.chance()))
            tries += 1


TWICE_MORE: Final = Retrying()
