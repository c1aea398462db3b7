"""Whose texts are kept: a share of the ordinary answers, all that tell of trouble."""

from __future__ import annotations

from dataclasses import replace

from ragctl.errors import ModelUnreachable
from ragctl.observe.retention import Retention, is_sampled
from ragctl.observe.traces import trace_of, trace_of_failure
from ragctl.records.answers import Problem
from tests.observe.test_traces import ASKED, answered

ORDINARY = trace_of("x", ASKED, replace(answered(), problems=()), ())


def test_the_same_id_is_always_or_never_in_the_sample_and_shares_are_nested() -> None:
    ids = [f"0199a3c1-{number:04x}" for number in range(4000)]
    few = {one for one in ids if is_sampled(one, 0.1)}
    more = {one for one in ids if is_sampled(one, 0.4)}
    assert few < more
    assert few == {one for one in ids if is_sampled(one, 0.1)}
    assert 300 < len(few) < 500
    assert 1450 < len(more) < 1750
    assert all(is_sampled(one, 1.0) and not is_sampled(one, 0.0) for one in ids)


def test_a_sample_drops_ordinary_answers_alone() -> None:
    none_of_them = Retention(sample=0.0, slow_ms=500.0)
    assert not none_of_them.keeps_texts_of(ORDINARY)
    assert Retention().keeps_texts_of(ORDINARY)
    failed = trace_of_failure(
        "x", ASKED, ModelUnreachable("no"), prompt=None, text="", total_ms=1.0, spans=()
    )
    slow = replace(ORDINARY, timings=replace(ORDINARY.timings, total=501.0))
    flagged = replace(ORDINARY, problems=(Problem(code="no_citation", message=""),))
    for telling in (
        failed, slow, flagged, replace(ORDINARY, refused=True), replace(ORDINARY, finish="torn"),
    ):  # fmt: skip
        assert none_of_them.keeps_texts_of(telling)
        assert not replace(none_of_them, keeps_texts=False).keeps_texts_of(telling)
