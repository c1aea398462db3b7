"""The times of answers: compute apart from waiting, first times apart from further ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ragctl.evaluate.latency import spread, spreads, time_answers
from ragctl.records.answers import Answer, Prompt, Timings
from tests.observe.test_traces import answered

PROMPT = Prompt(text="...", question="?", template="t", passages=())


class Machine:
    """Answers in scripted times: 30 ms to embed, 20 to search, then a model that is waited for."""

    def __init__(self, *, waiting_ms: float = 400.0, **changes: object) -> None:
        self.now_ms = 0.0
        self.asked: list[str] = []
        self._waiting_ms = waiting_ms
        self._changes = changes

    def clock(self) -> float:
        return self.now_ms / 1000

    def ask(
        self, question: str, on_prompt: Callable[[Prompt], None], on_text: Callable[[str], None]
    ) -> Answer:
        prefill = 60.0 if question in self.asked else 3000.0
        self.asked.append(question)
        self.now_ms += 50
        on_prompt(PROMPT)
        self.now_ms += self._waiting_ms + prefill
        on_text("It ")
        self.now_ms += 2000
        on_text("refills.")
        found = replace(
            answered(),
            degraded=False,
            finish="stop",
            prompt_tokens=900,
            output_tokens=40,
            timings=Timings(
                embed=30.0,
                search=20.0,
                prefill=prefill,
                decode=2000.0,
                total=50 + self._waiting_ms + prefill + 2000,
            ),
        )
        return replace(found, **self._changes)  # type: ignore[arg-type]


def test_a_question_is_asked_in_a_row_and_its_first_time_stands_alone() -> None:
    machine, told = Machine(), list[int]()
    timed = list(
        time_answers(["a", "b"], ask=machine.ask, runs=3, report=told.append, clock=machine.clock)
    )
    assert machine.asked == ["a", "a", "a", "b", "b", "b"]
    assert told == [1, 2, 3, 4, 5, 6]
    first, again = spreads(timed, is_again=False), spreads(timed, is_again=True)
    assert first["prefill_ms"] is not None and again["prefill_ms"] is not None
    assert (first["prefill_ms"].median, first["prefill_ms"].count) == (3000, 2)
    assert (again["prefill_ms"].median, again["prefill_ms"].count) == (60, 4)


def test_waiting_is_what_the_model_did_not_work() -> None:
    machine = Machine(waiting_ms=700)
    (timed,) = time_answers(
        ["a"], ask=machine.ask, runs=1, report=lambda _done: None, clock=machine.clock
    )
    assert timed.values == {
        "embed_ms": 30,
        "search_ms": 20,
        "waiting_ms": pytest.approx(700),
        "prefill_ms": 3000,
        "prefill_tokens_per_second": 300,
        "first_token_ms": pytest.approx(3700),
        "decode_ms": 2000,
        "decode_tokens_per_second": 20,
        "total_ms": 5750,
    }


def test_an_answer_that_no_model_wrote_or_that_broke_off_has_no_times_of_a_model() -> None:
    for machine in (Machine(degraded=True), Machine(finish="torn")):
        (timed,) = time_answers(
            ["a"], ask=machine.ask, runs=1, report=lambda _done: None, clock=machine.clock
        )
        assert not timed.is_whole
        assert (timed.values["embed_ms"], timed.values["search_ms"]) == (30, 20)
        assert {timed.values[name] for name in ("waiting_ms", "prefill_ms", "total_ms")} == {None}
        assert timed.prompt_tokens is None


def test_a_server_that_reports_no_times_of_its_own_leaves_the_wait_unknown() -> None:
    machine = Machine(timings=Timings(embed=30.0, search=20.0, total=5450.0), prompt_tokens=None)
    (timed,) = time_answers(
        ["a"], ask=machine.ask, runs=1, report=lambda _done: None, clock=machine.clock
    )
    assert timed.values["waiting_ms"] is None
    assert timed.values["prefill_tokens_per_second"] is None
    assert timed.values["total_ms"] == 5450


def test_a_spread_has_the_median_and_the_range_of_what_is_known() -> None:
    found = spread([5.0, None, 1.0, 9.0, 3.0])
    assert found is not None
    assert (found.median, found.least, found.most, found.count) == (4.0, 1.0, 9.0, 4)
    assert spread([None, None]) is None
