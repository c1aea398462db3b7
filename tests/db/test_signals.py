"""The views of signals against the same figures counted in Python; and the table of feedback."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.errors import DatabaseUnsuitable
from ragctl.records.answers import Problem, Timings
from ragctl.records.feedback import Feedback
from ragctl.records.signals import Period, SignalRow
from ragctl.records.traces import Trace
from tests.traffic import DAYS, FIRST, MODEL, rows_of, traffic

Connection = psycopg.Connection[tuple[object, ...]]
ALL = Period(since=FIRST, until=FIRST + timedelta(days=DAYS))


@pytest.fixture
def traces(database: Database) -> list[Trace]:
    """Five days of traffic, recorded."""
    recorded = list(traffic(7, days=5))
    for trace in recorded:
        database.traces.record(trace)
    return recorded


def _near(row: SignalRow, other: SignalRow) -> None:
    for name in SignalRow.__slots__:
        one, two = getattr(row, name), getattr(other, name)
        assert one == (two if not isinstance(two, float) else pytest.approx(two)), name


def test_a_day_of_the_view_says_what_its_traces_say(
    database: Database, traces: list[Trace]
) -> None:
    found = database.signals.days(ALL, embedding_model=MODEL)
    counted = rows_of(traces)
    assert [row.key for row in found] == [row.key for row in counted]
    for row, other in zip(found, counted, strict=True):
        _near(row, other)


def test_one_group_of_one_day_is_that_day(database: Database, traces: list[Trace]) -> None:
    day = Period(since=FIRST, until=FIRST + timedelta(days=1))
    (whole,) = database.signals.groups(day, by="", embedding_model=MODEL, models={})
    (row,) = database.signals.days(day, embedding_model=MODEL)
    _near(replace(whole, key=row.key), row)


def test_groups_go_by_track_route_and_the_model_behind_a_route(
    database: Database, traces: list[Trace]
) -> None:
    def keys(by: str) -> dict[str, int]:
        rows = database.signals.groups(
            ALL, by=by, embedding_model=MODEL, models={"fast": "openai/small"}
        )
        return {row.key: row.questions for row in rows}

    assert keys("track") == {"design": len(traces)}
    assert keys("route")["fast"] == sum(trace.route == "fast" for trace in traces)
    assert keys("model")["openai/small"] == keys("route")["fast"]
    assert keys("model")["ollama/llama3"] == keys("route")["ollama/llama3"]


def _one(number: int, **changes: object) -> Trace:
    trace = next(one for one in traffic(number, days=1) if one.error_code is None)
    return replace(trace, **changes)  # type: ignore[arg-type]


def test_a_flag_is_what_the_check_found_and_not_how_the_answer_came_about(
    database: Database, connection: Connection
) -> None:
    for number, (code, flagged, fell_back) in enumerate((
        ("fallback", False, True), ("no_route", False, True), ("keyword_only", False, False),
        ("passages_dropped", False, False), ("no_citation", True, False), ("new", True, False),
    )):  # fmt: skip
        trace = _one(number, problems=(Problem(code=code, message=""),))
        database.traces.record(trace)
        row = connection.execute(
            "SELECT flagged, fell_back FROM question_signals WHERE id = %s", (trace.id,)
        ).fetchone()
        assert row == (flagged, fell_back), code


def test_waiting_is_unknown_where_the_server_tells_no_times_and_never_negative(
    database: Database, connection: Connection
) -> None:
    known = Timings(embed=1.0, search=1.0, prefill=10.0, decode=10.0, total=50.0)
    for number, (timings, compute, waiting) in enumerate((
        (known, 22.0, 28.0),
        (replace(known, total=5.0), 22.0, 0.0),
        (replace(known, prefill=None), None, None),
        (replace(known, embed=None), 21.0, 29.0),
    )):  # fmt: skip
        trace = _one(number, timings=timings)
        database.traces.record(trace)
        row = connection.execute(
            "SELECT compute_ms, waiting_ms FROM question_signals WHERE id = %s", (trace.id,)
        ).fetchone()
        assert row == (compute, waiting)


def test_a_reader_who_gave_up_is_no_failure(database: Database, connection: Connection) -> None:
    database.traces.record(_one(1, error_code="stopped", finish="failed"))
    row = connection.execute("SELECT failed, stopped, p50_ms FROM daily_signals").fetchone()
    assert row == (0, 1, None)


def test_days_are_those_of_utc_whatever_the_session_says(
    database: Database, connection: Connection
) -> None:
    database.traces.record(_one(1, asked_at=datetime(2026, 3, 4, 23, 30, tzinfo=UTC)))
    connection.execute("SET timezone = 'Pacific/Auckland'")
    row = connection.execute("SELECT day::text FROM daily_signals").fetchone()
    assert row == ("2026-03-04",)


def test_cosines_of_another_embedding_model_do_not_mix(database: Database) -> None:
    database.traces.record(_one(1, top_cosine=0.9, embedding_model="ollama/other"))
    database.traces.record(_one(2, top_cosine=0.5))
    (row,) = database.signals.days(ALL, embedding_model=MODEL)
    assert (row.questions, row.embedded, row.top_cosine) == (2, 1, 0.5)


def test_the_farthest_questions_of_a_day_come_first(
    database: Database, traces: list[Trace]
) -> None:
    day = FIRST.isoformat()
    found = database.signals.farthest([day], embedding_model=MODEL, at_most=3)
    cosines = sorted(
        trace.top_cosine
        for trace in traces
        if trace.top_cosine is not None and trace.asked_at.date() == FIRST
    )
    assert [one.top_cosine for one in found] == cosines[:3]
    assert {one.day for one in found} == {day}
    assert database.signals.farthest([], embedding_model=MODEL, at_most=3) == []


def test_questions_without_a_good_answer_come_with_their_stems_and_a_reason(
    database: Database,
) -> None:
    stated = Problem(code="unsupported_claim", message="")
    cases: tuple[tuple[str | None, dict[str, object]], ...] = (
        ("refused", {"refused": True}),
        ("not covered", {"probability": 0.1}),
        ("weakly supported", {"probability": 0.5}),
        ("weakly supported", {"probability": 0.9, "problems": (stated,)}),
        (None, {"probability": 0.9}),
        (None, {"refused": True, "route": "catalogue"}),
        (None, {"refused": True, "question": None}),
    )
    for number, (reason, changes) in enumerate(cases):
        base = {"refused": False, "problems": (), "question": "Which React hooks?"}
        trace = _one(number, **{**base, **changes})
        database.traces.record(trace)
        found = database.signals.uncovered(
            ALL, embedding_model=MODEL, not_covered=0.45, weak=0.65, at_most=10
        )
        kept = {one.id: one for one in found}
        assert (kept[trace.id].reason if trace.id in kept else None) == reason, number
        if reason:
            assert kept[trace.id].words == (("react", "react"), ("hook", "hooks"))
            assert kept[trace.id].pages == tuple(hit.ref.split("#")[0] for hit in trace.hits)
    assert database.signals.without_text(ALL) == 1
    weights = database.signals.weights(["react", "hook"])
    assert set(weights) == {"react", "hook"}


def test_tries_of_a_route_are_counted_with_those_that_failed(
    database: Database, traces: list[Trace]
) -> None:
    found = {one.route: one for one in database.signals.attempts(ALL)}
    fell_back = sum("fallback" in {p.code for p in trace.problems} for trace in traces)
    wrote = sum(trace.route == "fast" and not trace.cached for trace in traces)
    assert (found["fast"].answered, found["fast"].attempts) == (wrote, wrote + fell_back)
    usage = {one.route: one for one in database.signals.usage(ALL)}
    assert usage["fast"].prompt_tokens == sum(
        trace.prompt_tokens or 0 for trace in traces if trace.route == "fast" and not trace.cached
    )


def _said(trace: Trace, *, good: bool, note: str = "") -> Feedback:
    return Feedback(trace_id=trace.id, good=good, note=note, at=trace.asked_at)


def test_the_last_word_on_an_answer_counts_and_goes_with_it(
    database: Database, traces: list[Trace], connection: Connection
) -> None:
    trace = next(one for one in traces if one.citations)
    database.feedback.store(_said(trace, good=True))
    database.feedback.store(_said(trace, good=False, note="old\0"))
    (kept,) = database.feedback.newest(at_most=5)
    assert (kept.good, kept.note, kept.question) == (False, "old\ufffd", trace.question)
    assert kept.cited == ((trace.citations[0].url, "S"),)
    rows = database.signals.days(ALL, embedding_model=MODEL)
    assert (sum(row.good for row in rows), sum(row.bad for row in rows)) == (0, 1)
    connection.execute("DELETE FROM traces WHERE id = %s", (trace.id,))
    assert database.feedback.newest(at_most=5) == []


def test_a_role_without_rights_is_told_which_ones(
    database: Database, traces: list[Trace], migrated_url: str
) -> None:
    with connect(migrated_url) as owner:
        owner.execute(
            "DO $$ BEGIN CREATE ROLE reader_of_no_signals LOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        owner.execute("GRANT SELECT ON schema_migrations TO reader_of_no_signals")
    separator = "&" if "?" in migrated_url else "?"
    url = f"{migrated_url}{separator}user=reader_of_no_signals"
    with Database.over(connect(url), url) as reader:
        for read in (
            reader.signals.embedding_model,
            lambda: reader.signals.days(ALL, embedding_model=MODEL),
            lambda: reader.signals.usage(ALL),
        ):
            with pytest.raises(DatabaseUnsuitable) as told:
                read()
            assert "GRANT SELECT ON traces" in told.value.hint
        with pytest.raises(DatabaseUnsuitable, match="feedback"):
            reader.feedback.store(_said(traces[0], good=True))
        with pytest.raises(DatabaseUnsuitable, match="feedback"):
            reader.feedback.newest(at_most=1)
