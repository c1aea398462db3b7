"""Steps inside steps are measured as a tree, and nothing secret is noted of them."""

from __future__ import annotations

import pytest

from ragctl.errors import ModelUnreachable
from ragctl.observe.redaction import redacted
from ragctl.observe.stopwatch import Stopwatch
from ragctl.observe.traces import trace_of
from ragctl.observe.tree import rooted, walked
from ragctl.records.traces import Span
from tests.observe.test_traces import ASKED, SPANS, answered


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def test_steps_are_a_tree_with_durations_that_lie_inside_their_parents() -> None:
    tracing = Stopwatch(clock=Clock())
    with tracing.span("ask") as whole:
        with tracing.span("search") as step:
            step.note({"k": 5, "absent": None})
        with tracing.span("generate"):
            tracing.lay("attempt", start_ms=250.0, duration_ms=500.0, told={"route": "one"})
    spans = tracing.spans()
    assert [(span.name, span.parent) for span in spans] == [
        ("ask", None), ("search", 0), ("generate", 0), ("attempt", 2),
    ]  # fmt: skip
    assert spans[1].attributes == {"k": 5}
    assert (spans[1].start_ms, spans[1].duration_ms) == (1000.0, 1000.0)
    assert (spans[3].start_ms, spans[3].duration_ms) == (spans[2].start_ms + 250.0, 500.0)
    assert whole.ms == spans[0].duration_ms
    for span in spans[1:]:
        assert span.parent is not None
        around = spans[span.parent]
        assert around.start_ms <= span.start_ms
        assert span.start_ms + span.duration_ms <= around.start_ms + around.duration_ms


def test_a_root_that_is_opened_again_begins_anew() -> None:
    tracing = Stopwatch(clock=Clock())
    with tracing.span("ask"), tracing.span("catalogue"):
        pass
    with tracing.span("ask"):
        pass
    assert [span.name for span in tracing.spans()] == ["ask"]


def test_what_ends_a_step_early_is_noted_on_it_and_goes_on() -> None:
    tracing = Stopwatch(clock=Clock())
    with pytest.raises(ModelUnreachable), tracing.span("ask"), tracing.span("embed"):
        raise ModelUnreachable("nobody at http://me:pass@host")
    assert tracing.spans()[1].attributes == {
        "error_code": "model_unreachable",
        "error": "nobody at http://***@host",
    }
    with pytest.raises(ValueError, match="my question"), tracing.span("ask"):
        raise ValueError("my question")
    assert tracing.spans()[0].attributes == {"error_code": "bug"}
    with tracing.span("ask"):
        pass  # the stopwatch goes on after a failure


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("no server at http://me:pa/ss@host:80/x", "no server at http://***@host:80/x"),
        ("postgresql://u:p@db/x and https://a:b@c/", "postgresql://***@db/x and https://***@c/"),
        ("sent Authorization: Bearer abc.DEF-123", "sent Authorization: Bearer ***"),
        ('{"api_key": "abc123", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("?token=abc&x=1 password=hunter2", "?token=***&x=1 password=***"),
        ("key sk-abcdefghijklmnop1234 is wrong", "key *** is wrong"),
        ("http 503 at http://host/path: 12 tokens", "http 503 at http://host/path: 12 tokens"),
        ("timeout (first token)", "timeout (first token)"),
    ],
)
def test_secrets_are_taken_out_of_messages(text: str, kept: str) -> None:
    assert redacted(text) == kept


def test_a_trace_from_before_spans_had_parents_gets_a_root() -> None:
    flat = tuple(
        Span(name=name, start_ms=at, duration_ms=10.0, attributes={})
        for name, at in (("embed", 0.0), ("search", 10.0))
    )
    spans = rooted(trace_of("x", ASKED, answered(), flat))
    assert [(span.name, span.parent) for span in spans] == [
        ("ask", None), ("embed", 0), ("search", 0),
    ]  # fmt: skip
    assert spans[0].duration_ms == 100.0
    assert rooted(trace_of("x", ASKED, answered(), SPANS)) == SPANS


def test_a_tree_is_walked_from_the_root_to_the_leaves() -> None:
    order = (SPANS[0], SPANS[2], SPANS[1])  # the second is the parent of a later one
    moved = (*order[:2], *(span for span in SPANS[3:]), order[2])
    parents = (None, 0, 1, 1, 0)
    shuffled = [
        Span(name=span.name, start_ms=0.0, duration_ms=0.0, attributes={}, parent=parent)
        for span, parent in zip(moved, parents, strict=True)
    ]
    assert [(depth, span.name) for depth, span in walked(shuffled)] == [
        (0, "ask"), (1, "generate"), (2, "attempt"), (2, "attempt"), (1, "search"),
    ]  # fmt: skip
