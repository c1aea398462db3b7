"""Follows one question to its end and has it recorded, without ever getting in its way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragctl.observe.stopwatch import Stopwatch
from ragctl.observe.traces import trace_id, trace_of, trace_of_failure, without_texts

if TYPE_CHECKING:
    from ragctl.observe.retention import Retention
    from ragctl.protocols import Tracer
    from ragctl.records.answers import Answer, Prompt
    from ragctl.records.traces import Asked, Trace


class Recorder:
    """Use it as a context manager around all that may fail once the question is known.

    Hand its ``tracing`` to what answers, so that the steps are known. Without a tracer it records
    nothing. ``random`` returns so many random bytes, ``clock`` seconds.
    An answer that cannot be recorded goes to ``on_lost`` as the error that was in the way; a
    failure that cannot be recorded is told by itself.
    """

    def __init__(
        self,
        asked: Asked,
        *,
        tracer: Tracer | None,
        retention: Retention,
        on_lost: Callable[[Exception], None],
        random: Callable[[int], bytes],
        clock: Callable[[], float],
    ) -> None:
        self._asked = asked
        self._tracer = tracer
        self._retention = retention
        self._on_lost = on_lost
        self._id = trace_id(asked.at, random(10))
        self._clock = clock
        self._began = clock()
        self._prompt: Prompt | None = None
        self._pieces: list[str] = []
        self.tracing = Stopwatch(clock=clock)

    def prompts(self, show: Callable[[Prompt], None]) -> Callable[[Prompt], None]:
        """Return ``show``, watched: the prompt is known should the answer fail."""

        def watched(prompt: Prompt) -> None:
            self._prompt = prompt
            show(prompt)

        return watched

    def texts(self, show: Callable[[str], None]) -> Callable[[str], None]:
        """Return ``show``, watched: what was written is known should the rest fail."""

        def watched(piece: str) -> None:
            self._pieces.append(piece)
            show(piece)

        return watched

    def keep(self, answer: Answer) -> Answer:
        """Record an answer and return it with its ``trace_id``, or as it was."""
        if self._tracer is None:
            return answer
        try:
            spans = self.tracing.spans()
            self._record(self._tracer, trace_of(self._id, self._asked, answer, spans))
        except Exception as error:
            self._on_lost(error)
            return answer
        return replace(answer, trace_id=self._id)

    def tidy(self) -> None:
        """Let a few traces go that are too old; call it once the answer has been shown."""
        if self._tracer is None:
            return
        with suppress(Exception):  # the right to add traces is not that to remove them
            self._tracer.keep_up(
                keep_days=self._retention.keep_days, keep_text_days=self._retention.keep_text_days
            )

    def _record(self, tracer: Tracer, trace: Trace) -> None:
        keeps = self._retention.keeps_texts_of(trace)
        tracer.record(trace if keeps else without_texts(trace))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or self._tracer is None:
            return
        with suppress(Exception):
            failure = trace_of_failure(
                self._id,
                self._asked,
                error,
                prompt=self._prompt,
                text="".join(self._pieces),
                total_ms=(self._clock() - self._began) * 1000,
                spans=self.tracing.spans(),
            )
            self._record(self._tracer, failure)
