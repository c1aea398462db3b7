"""A queue in front of a generator: so many write at once, the rest waits, first come, first served.

A model server that is asked by everybody at once is slow for everybody. The wait is told while it
lasts, and kept apart from the time that a model took: the one grows with the number of people, the
other does not.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragctl.errors import DatabaseError, ModelUnreachable
from ragctl.records.answers import Attempt, Draft, Problem, Prompt

if TYPE_CHECKING:
    from ragctl.protocols import Generator, Slots
    from ragctl.records.gateway import Place

NO_SLOT: Final = "no_slot"
FIRST_LOOK_SECONDS: Final = 0.1
LONGEST_LOOK_SECONDS: Final = 1.0


class QueuedGenerator:
    """A :class:`~ragctl.protocols.Generator` that writes when it has a slot.

    A slot is had for ``work_seconds``, which must be all that the generator may take. After
    ``queue_seconds`` in line ``last_resort`` writes, or where there is none
    :class:`~ragctl.errors.ModelUnreachable` is raised. ``on_wait`` is told of the place in line
    whenever that has changed.
    """

    def __init__(
        self,
        generator: Generator,
        slots: Slots,
        *,
        work_seconds: float,
        queue_seconds: float,
        last_resort: Generator | None,
        on_wait: Callable[[Place], None],
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._generator = generator
        self._slots = slots
        self._work_seconds = work_seconds
        self._queue_seconds = queue_seconds
        self._last_resort = last_resort
        self._on_wait = on_wait
        self._clock = clock
        self._sleep = sleep

    @property
    def name(self) -> str:
        """The name of who writes."""
        return self._generator.name

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Wait for a slot and write the answer; see :class:`~ragctl.protocols.Generator`."""
        began = self._clock()
        try:
            place = self._waited(began)
            queue_ms = (self._clock() - began) * 1000
            if place.is_taken:
                draft = self._generator.generate(prompt, on_text=on_text)
                return replace(draft, queue_ms=queue_ms)
        finally:
            with suppress(DatabaseError):  # an answer is worth more; the slot runs out
                self._slots.release()
        return replace(self._without_slot(prompt, on_text, place), queue_ms=queue_ms)

    def _waited(self, began: float) -> Place:
        """Return the place in the end: taken, or where the time was over."""
        self._slots.queue()
        told: Place | None = None
        while True:
            place = self._slots.take(work_seconds=self._work_seconds)
            left = self._queue_seconds - (self._clock() - began)
            if place.is_taken or left <= 0:
                return place
            if told is None or told.waiting != place.waiting:
                self._on_wait(place)
                told = place
            look = min(FIRST_LOOK_SECONDS * (1 + place.waiting), LONGEST_LOOK_SECONDS)
            self._sleep(min(look, left))

    def _without_slot(self, prompt: Prompt, on_text: Callable[[str], None], place: Place) -> Draft:
        reason = (
            f"no slot was free for {self._queue_seconds:g} s "
            f"({place.working} at work, {place.waiting} waiting before this question)"
        )
        if self._last_resort is None or not prompt.passages:
            raise ModelUnreachable(
                reason,
                hint="Ask again later, or raise limits.generations or limits.queue_seconds.",
                outcome="no free slot",
                may_clear=True,
            )
        began = self._clock()
        draft = self._last_resort.generate(prompt, on_text=on_text)
        message = f"No model wrote this answer, it quotes the passages: {reason}. Ask again later."
        ms = (self._clock() - began) * 1000
        return replace(
            draft,
            attempts=(
                Attempt(route=self.name, outcome="no free slot", ms=0.0),
                Attempt(route=draft.route, outcome="answered", ms=ms),
            ),
            problems=(*draft.problems, Problem(code=NO_SLOT, message=message)),
        )
