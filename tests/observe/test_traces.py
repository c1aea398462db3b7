"""From an answer or a failure to its trace; and a recorder that never gets in the way."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragctl.errors import DatabaseError, ModelUnreachable
from ragctl.observe.recorder import Recorder
from ragctl.observe.retention import Retention
from ragctl.observe.traces import outcome_of, trace_id, trace_of, trace_of_failure, without_texts
from ragctl.records.answers import Answer, Attempt, Citation, Problem, Prompt, Timings
from ragctl.records.search import Hit
from ragctl.records.traces import Asked, Span, Trace

AT = datetime(2026, 3, 4, 5, 6, 7, 891000, tzinfo=UTC)
ASKED = Asked(
    question="How?",
    at=AT,
    tracks=("a",),
    k=5,
    mode="vector",
    embedding_model="ollama/n",
    template="balanced",
    pages=("/a",),
)


def hit(n: int) -> Hit:
    """Return a passage that was found."""
    return Hit(
        n=n, chunk_id=10 + n, ref=f"/a#c{n}", url="/a", title="A", track="a", section="S",
        anchor="s", body="Text.", start_char=n, end_char=n + 5, source_path="a.md",
        score=1 - n / 10, vector_score=1 - n / 10,
    )  # fmt: skip


SPANS = (
    Span(name="ask", start_ms=0.0, duration_ms=100.0, attributes={}),
    Span(name="search", start_ms=20.0, duration_ms=5.0, parent=0,
         attributes={"mode": "vector", "k": 5, "top_score": 0.9, "tracks": ("a",)}),
    Span(name="generate", start_ms=30.0, duration_ms=70.0, parent=0, attributes={}),
    Span(name="attempt", start_ms=30.0, duration_ms=20.0, parent=2,
         attributes={"route": "first", "outcome": "http 500", "error": "it echoed How?"}),
    Span(name="attempt", start_ms=50.0, duration_ms=50.0, parent=2,
         attributes={"route": "second", "outcome": "answered", "model": "llama3",
                     "prompt_tokens": 9, "output_tokens": 3}),
)  # fmt: skip


def answered(text: str = "So [1].") -> Answer:
    """Return an answer from three passages, of which two were sent and one is cited."""
    hits = (hit(1), hit(2), hit(3))
    cited = Citation(
        n=1, title="A", url="/a", section="S", anchor="s", link="/a#s", source_path="a.md",
        passages=(1,),
    )  # fmt: skip
    return Answer(
        question="How?", text=text, refused=False, degraded=False, finish="stop",
        citations=(cited,), passages=hits,
        problems=(Problem(code="no_citation", message="It cites no passage."),),
        route="ollama/llama3",
        attempts=(Attempt(route="ollama/llama3", outcome="stop", ms=70.0),),
        prompt=Prompt(text="P", question="How?", template="balanced/1", passages=hits[:2]),
        prompt_tokens=9, output_tokens=3,
        timings=Timings(embed=20.0, search=5.0, prefill=30.0, decode=40.0, total=100.0),
    )  # fmt: skip


def test_an_id_is_a_uuid_of_version_7_that_sorts_by_time() -> None:
    made = uuid.UUID(trace_id(AT, b"\xff" * 10))
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == int(AT.timestamp() * 1000)
    later = trace_id(AT.replace(microsecond=892000), b"\x00" * 10)
    assert trace_id(AT, b"\xff" * 10) < later
    assert trace_id(AT, b"0123456789") != trace_id(AT, b"0123456780")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", later)


def test_a_trace_tells_which_passages_were_sent_and_cited() -> None:
    trace = trace_of("x", ASKED, answered(), ())
    assert [(h.rank, h.in_prompt, h.cited) for h in trace.hits] == [
        (1, True, True),
        (2, True, False),
        (3, False, False),
    ]
    assert (trace.template, trace.prompt, outcome_of(trace)) == ("balanced/1", "P", "answered")


def test_without_texts_only_numbers_and_addresses_are_left() -> None:
    trace = without_texts(trace_of("x", ASKED, answered("A secret [1]."), SPANS))
    assert (trace.question, trace.prompt, trace.answer) == (None, None, None)
    assert trace.problems[0].message == ""
    assert "secret" not in repr(trace)
    assert "How?" not in repr(trace)
    assert trace.spans[3].attributes == {"route": "first", "outcome": "http 500"}
    assert trace.hits[0].score == 0.9


def test_the_mode_of_a_trace_is_the_one_that_ran() -> None:
    asked = replace(ASKED, mode="hybrid")
    assert trace_of("x", asked, answered(), ()).mode == "hybrid"
    by_words = Problem(code="keyword_only", message="No model.")
    assert trace_of("x", asked, replace(answered(), problems=(by_words,)), ()).mode == "keyword"
    nothing_searched = replace(answered(), timings=Timings(total=1.0))
    assert trace_of("x", asked, nothing_searched, ()).mode is None
    worded = tuple(replace(found, vector_score=None) for found in answered().passages)
    for passages, mode in ((worded, "keyword"), (answered().passages, "hybrid")):
        failed = trace_of_failure(
            "x", asked, ModelUnreachable("no"), text="", total_ms=1.0, spans=(),
            prompt=replace(answered().prompt, passages=passages),
        )  # fmt: skip
        assert (failed.mode, failed.pages) == (mode, ("/a",))


KEEPS_ALL = Retention()


class _Kept:
    def __init__(self, error: Exception | None = None) -> None:
        self.traces: list[Trace] = []
        self.upkeeps: list[tuple[int, int]] = []
        self.error = error

    def record(self, trace: Trace) -> None:
        if self.error is not None:
            raise self.error
        self.traces.append(trace)

    def keep_up(self, *, keep_days: int, keep_text_days: int) -> None:
        self.upkeeps.append((keep_days, keep_text_days))
        if self.error is not None:
            raise self.error


def _recorder(
    tracer: _Kept | None, lost: list[Exception], *, retention: Retention = KEEPS_ALL
) -> Recorder:
    ticks = iter(range(100))
    return Recorder(
        ASKED, tracer=tracer, retention=retention, on_lost=lost.append,
        random=lambda n: b"\x01" * n, clock=lambda: float(next(ticks)),
    )  # fmt: skip


def test_an_answer_is_recorded_and_knows_its_trace() -> None:
    kept, lost = _Kept(), list[Exception]()
    with _recorder(kept, lost) as recorder:
        found = recorder.keep(answered())
    assert [trace.id for trace in kept.traces] == [found.trace_id]
    assert lost == []


@pytest.mark.parametrize("error", [DatabaseError("full"), ValueError("odd"), OSError("gone")])
def test_an_answer_that_cannot_be_recorded_comes_back_as_it_was(error: Exception) -> None:
    lost: list[Exception] = []
    with _recorder(_Kept(error), lost) as recorder:
        assert recorder.keep(answered()) == answered()
    assert lost == [error]


def test_a_failure_is_recorded_with_what_was_known_and_goes_on() -> None:
    kept, lost = _Kept(), list[Exception]()
    seen: list[object] = []
    with pytest.raises(ModelUnreachable), _recorder(kept, lost) as recorder:
        recorder.prompts(seen.append)(answered().prompt)
        recorder.texts(seen.append)("At si")
        raise ModelUnreachable("no Ollama")
    (trace,) = kept.traces
    assert (trace.error_code, trace.error_message) == ("model_unreachable", "no Ollama")
    assert (trace.prompt, trace.answer, trace.timings.total) == ("P", "At si", 1000.0)
    assert [h.rank for h in trace.hits] == [1, 2]
    assert outcome_of(trace) == "failed: model_unreachable"
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), "stopped"), (BrokenPipeError(), "stopped"),
                        (ZeroDivisionError("secret"), "bug")]
)  # fmt: skip
def test_stops_and_bugs_are_failures_without_their_words(error: BaseException, code: str) -> None:
    kept = _Kept()
    with pytest.raises(type(error)), _recorder(kept, []):
        raise error
    assert kept.traces[0].error_code == code
    assert kept.traces[0].error_message == type(error).__name__


def test_a_failure_that_cannot_be_recorded_is_told_by_itself_alone() -> None:
    lost: list[Exception] = []
    with pytest.raises(ModelUnreachable), _recorder(_Kept(DatabaseError("full")), lost):
        raise ModelUnreachable("no Ollama")
    assert lost == []


def test_without_a_tracer_nothing_is_kept() -> None:
    with _recorder(None, []) as recorder:
        assert recorder.keep(answered()).trace_id == ""
    with pytest.raises(ValueError, match="x"), _recorder(None, []):
        raise ValueError("x")


def test_the_steps_of_an_answer_and_of_a_failure_are_in_their_traces() -> None:
    kept = _Kept()
    with pytest.raises(ModelUnreachable), _recorder(kept, []) as recorder:
        with recorder.tracing.span("ask"), recorder.tracing.span("search"):
            pass
        recorder.keep(answered())
        with recorder.tracing.span("ask"), recorder.tracing.span("embed"):
            raise ModelUnreachable("no server at http://me:secret@host/")
    done, failed = kept.traces
    assert [span.name for span in done.spans] == ["ask", "search"]
    assert [span.name for span in failed.spans] == ["ask", "embed"]
    assert failed.spans[1].attributes["error_code"] == "model_unreachable"
    assert failed.error_message == "no server at http://***@host/"
    assert "secret" not in repr(failed)


def test_what_is_sampled_out_is_recorded_without_texts() -> None:
    kept = _Kept()
    plain = replace(answered(), problems=())
    for sample in (0.0, 1.0):
        with _recorder(kept, [], retention=Retention(sample=sample)) as recorder:
            recorder.keep(plain)
    assert [trace.question for trace in kept.traces] == [None, "How?"]
    assert kept.traces[0].timings == kept.traces[1].timings


def test_what_tidying_meets_is_told_to_nobody() -> None:
    lost: list[Exception] = []
    broken, retention = _Kept(DatabaseError("no right")), Retention(keep_days=9, keep_text_days=3)
    for tracer in (broken, None):
        _recorder(tracer, lost, retention=retention).tidy()
    assert (broken.upkeeps, lost) == ([(9, 3)], [])
