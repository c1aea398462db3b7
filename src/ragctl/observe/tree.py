"""The spans of a trace as a tree with one root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragctl.records.traces import Span, Trace

ROOT = "ask"


def rooted(trace: Trace) -> tuple[Span, ...]:
    """Return the spans of a trace below one root.

    Traces that were kept before spans had a parent get one, and so do those that failed before
    anything was measured.
    """
    if trace.spans and trace.spans[0].name == ROOT:
        return trace.spans
    ended = max((span.start_ms + span.duration_ms for span in trace.spans), default=0.0)
    total = ended if trace.timings.total is None else trace.timings.total
    root = Span(name=ROOT, start_ms=0.0, duration_ms=total, attributes={})
    below = (
        replace(span, parent=0 if span.parent is None else span.parent + 1) for span in trace.spans
    )
    return (root, *below)


def walked(
    spans: Sequence[Span], parent: int | None = None, depth: int = 0
) -> Iterator[tuple[int, Span]]:
    """Yield the spans with their depth, each before those inside it."""
    for position, span in enumerate(spans):
        if span.parent == parent and position != parent:
            yield depth, span
            yield from walked(spans, position, depth + 1)
