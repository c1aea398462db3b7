"""The queue around a generator, and an ingest that gives way: with a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from ragctl.errors import DatabaseUnreachable, ModelUnreachable
from ragctl.gateway.giving_way import GivingWay
from ragctl.gateway.slots import NO_SLOT, QueuedGenerator
from ragctl.protocols import Generator
from ragctl.records.answers import Draft, Prompt
from ragctl.records.gateway import Place
from ragctl.stages.generate import ExtractiveGenerator
from tests.gateway.test_gateway_generator import PROMPT

TAKEN = Place(is_taken=True)


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Line:
    """Slots whose looks are scripted; the last place is for ever."""

    def __init__(self, *places: Place) -> None:
        self._places = list(places)
        self.done: list[str] = []

    def queue(self) -> None:
        self.done.append("queue")

    def take(self, *, work_seconds: float) -> Place:
        return self._places.pop(0) if len(self._places) > 1 else self._places[0]

    def release(self) -> None:
        self.done.append("release")


class Writer:
    """Writes one text, or raises; takes a second."""

    name = "ollama/llama3"

    def __init__(self, clock: Clock, error: BaseException | None = None) -> None:
        self._clock = clock
        self._error = error

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        self._clock.sleep(1.0)
        if self._error is not None:
            raise self._error
        on_text("It opens at six [1].")
        return Draft(text="It opens at six [1].", route=self.name, finish="stop")


def behind(
    line: Line,
    clock: Clock,
    *,
    writer: Writer | None = None,
    queue_seconds: float = 60.0,
    last_resort: Generator | None = None,
    told: list[Place] | None = None,
) -> QueuedGenerator:
    return QueuedGenerator(
        writer or Writer(clock),
        line,
        work_seconds=300.0,
        queue_seconds=queue_seconds,
        last_resort=last_resort,
        on_wait=(told if told is not None else []).append,
        clock=clock,
        sleep=clock.sleep,
    )


def waits(*waiting: int) -> Sequence[Place]:
    return [Place(is_taken=False, waiting=count, working=2) for count in waiting]


def nothing(_piece: str) -> None:
    """Take a piece of text."""


def test_a_free_slot_costs_no_wait_and_is_given_back() -> None:
    clock, told = Clock(), list[Place]()
    line = Line(TAKEN)
    draft = behind(line, clock, told=told).generate(PROMPT, on_text=nothing)
    assert (draft.text, draft.queue_ms) == ("It opens at six [1].", 0.0)
    assert line.done == ["queue", "release"]
    assert told == []


def test_a_wait_is_told_as_it_changes_and_counted_apart_from_the_writing() -> None:
    clock, told = Clock(), list[Place]()
    line = Line(*waits(2, 2, 1, 0, 0), TAKEN)
    draft = behind(line, clock, told=told).generate(PROMPT, on_text=nothing)
    assert [place.waiting for place in told] == [2, 1, 0]
    assert draft.queue_ms == pytest.approx((clock.now - 101.0) * 1000)
    assert draft.queue_ms == pytest.approx(1000)  # looks after .3, .3, .2, .1 and .1 s


def test_who_waits_too_long_gets_quotes_and_is_told_why() -> None:
    clock = Clock()
    line = Line(*waits(5))
    queued = behind(line, clock, queue_seconds=10, last_resort=ExtractiveGenerator())
    draft = queued.generate(PROMPT, on_text=nothing)
    assert clock.now == pytest.approx(110)
    assert not draft.written_by_model
    assert [problem.code for problem in draft.problems] == [NO_SLOT]
    assert "no slot was free for 10 s (2 at work, 5 waiting" in draft.problems[0].message
    assert [(each.route, each.outcome) for each in draft.attempts] == [
        ("ollama/llama3", "no free slot"),
        ("extractive", "answered"),
    ]
    assert line.done == ["queue", "release"]


def test_where_nobody_quotes_a_wait_too_long_is_an_error() -> None:
    line = Line(*waits(5))
    with pytest.raises(ModelUnreachable, match="no slot was free for 10 s"):
        behind(line, Clock(), queue_seconds=10).generate(PROMPT, on_text=nothing)
    assert line.done == ["queue", "release"]


def test_without_time_to_wait_only_a_free_slot_will_do() -> None:
    for place, is_written in ((TAKEN, True), (waits(0)[0], False)):
        queued = behind(Line(place), Clock(), queue_seconds=0, last_resort=ExtractiveGenerator())
        assert queued.generate(PROMPT, on_text=nothing).written_by_model == is_written


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ModelUnreachable("gone")])
def test_a_slot_is_given_back_whatever_stops_the_writing(error: BaseException) -> None:
    clock = Clock()
    line = Line(TAKEN)
    with pytest.raises(type(error)):
        behind(line, clock, writer=Writer(clock, error)).generate(PROMPT, on_text=nothing)
    assert line.done == ["queue", "release"]


def test_an_answer_survives_a_slot_that_cannot_be_given_back() -> None:
    class Lost(Line):
        def release(self) -> None:
            raise DatabaseUnreachable("gone")

    draft = behind(Lost(TAKEN), Clock()).generate(PROMPT, on_text=nothing)
    assert draft.text


def test_no_passages_are_quoted_where_there_are_none() -> None:
    prompt = replace(PROMPT, passages=())
    queued = behind(Line(*waits(0)), Clock(), queue_seconds=0, last_resort=ExtractiveGenerator())
    with pytest.raises(ModelUnreachable):
        queued.generate(prompt, on_text=nothing)


def ingested(clock: Clock, batches: Sequence[float], *, busy: Callable[[], bool]) -> GivingWay:
    """An ingest whose batches take so many seconds."""
    giving_way = GivingWay(busy, clock=clock, sleep=clock.sleep)
    for seconds in batches:
        clock.sleep(seconds)
        giving_way()
    return giving_way


def test_nobody_asks_and_an_ingest_does_not_pause() -> None:
    clock = Clock()
    assert ingested(clock, [1.0] * 20, busy=lambda: False).paused_seconds == 0
    assert clock.now == 120


@pytest.mark.parametrize("seconds", [0.01, 0.3, 1.0, 7.0, 90.0])
def test_an_ingest_takes_at_most_half_as_long_again_however_many_ask(seconds: float) -> None:
    clock = Clock()
    batches = [seconds] * 200
    paused = ingested(clock, batches, busy=lambda: True).paused_seconds
    assert clock.now - 100 == pytest.approx(sum(batches) + paused)
    assert 0 < paused <= sum(batches) / 2 + 1e-6


def test_a_pause_ends_when_nobody_asks_any_more() -> None:
    clock = Clock()
    giving_way = ingested(clock, [8.0], busy=lambda: clock.now < 109.0)
    assert giving_way.paused_seconds == 1.0


def test_a_long_quiet_ingest_saves_up_no_long_pause() -> None:
    clock = Clock()
    giving_way = ingested(clock, [1.0] * 1000, busy=lambda: clock.now > 1099)
    assert giving_way.paused_seconds <= 10.5
