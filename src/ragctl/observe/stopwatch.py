"""Measures the steps of one answer as a tree of spans, while they are carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ragctl.errors import RagctlError
from ragctl.observe.redaction import redacted
from ragctl.records.traces import Span, SpanValue

Attributes = Mapping[str, SpanValue | None]


class Step:
    """A span while it is measured."""

    def __init__(self, name: str, *, parent: int | None, clock: Callable[[], float]) -> None:
        self.name = name
        self.parent = parent
        self.attributes: dict[str, SpanValue] = {}
        self._clock = clock
        self.began = clock()
        self._ended: float | None = None

    @property
    def ms(self) -> float:
        """How long it took, or has taken so far."""
        return ((self._clock() if self._ended is None else self._ended) - self.began) * 1000

    def note(self, attributes: Attributes) -> None:
        """Add attributes; those that are ``None`` are left out."""
        self.attributes |= {name: one for name, one in attributes.items() if one is not None}

    def end(self, *, at: float | None = None) -> None:
        """Stop measuring, now or at a moment of the clock."""
        self._ended = self._clock() if at is None else at


class Stopwatch:
    """Hand it to what is to be measured: ``with tracing.span("search") as step: ...``.

    Spans opened inside another are its children. The outermost one is the root; opened again, it
    begins anew. ``clock`` returns seconds.
    """

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._steps: list[Step] = []
        self._open: list[int] = []

    @contextmanager
    def span(self, name: str) -> Iterator[Step]:
        """Measure the block; what ends it early is noted and goes on."""
        if not self._open:
            self._steps.clear()
        step = self._begin(name)
        self._open.append(len(self._steps) - 1)
        try:
            yield step
        except BaseException as error:
            step.note(_failure(error))
            raise
        finally:
            step.end()
            self._open.pop()

    def lay(self, name: str, *, start_ms: float, duration_ms: float, told: Attributes) -> None:
        """Add what somebody else measured inside the open span, from whose start it counts."""
        step = self._begin(name)
        if self._open:
            step.began = self._steps[self._open[-1]].began
        step.began += start_ms / 1000
        step.end(at=step.began + duration_ms / 1000)
        step.note(told)

    def spans(self) -> tuple[Span, ...]:
        """Return what was measured, the root first; secrets are taken out of the attributes."""
        return tuple(
            Span(
                name=step.name,
                start_ms=(step.began - self._steps[0].began) * 1000,
                duration_ms=step.ms,
                attributes={name: _safe(one) for name, one in step.attributes.items()},
                parent=step.parent,
            )
            for step in self._steps
        )

    def _begin(self, name: str) -> Step:
        parent = self._open[-1] if self._open else None
        self._steps.append(Step(name, parent=parent, clock=self._clock))
        return self._steps[-1]


def error_code(error: BaseException) -> str:
    """Return why something failed in a word, as in the JSON of errors."""
    if isinstance(error, RagctlError):
        return error.code
    is_ours = isinstance(error, Exception) and not isinstance(error, BrokenPipeError)
    return "bug" if is_ours else "stopped"


def _failure(error: BaseException) -> Attributes:
    message = error.message if isinstance(error, RagctlError) else None
    return {"error_code": error_code(error), "error": message}


def _safe(value: SpanValue) -> SpanValue:
    if isinstance(value, tuple):
        return tuple(redacted(one) for one in value)
    return redacted(value) if isinstance(value, str) else value
