"""Bands, drift and alarms on forty made-up days: what happened is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragctl.errors import UsageError
from ragctl.observe.bands import LEAST_DAYS, Point, Scale, normal_of
from ragctl.observe.drift import Drift, drift_of
from ragctl.observe.periods import before, days_of, period_since
from ragctl.observe.signals import SIGNALS, Standing, standings
from ragctl.observe.sparks import sparkline
from ragctl.records.signals import BelowBound, Period, SignalRow
from tests.traffic import DAYS, FIRST, Calendar, Mood, calm, rows_of, traffic

END = FIRST + timedelta(days=DAYS)
WEEK = Period(since=END - timedelta(days=7), until=END)
TWO_DAYS = Period(since=END - timedelta(days=2), until=END)
SEEDS = range(60)


def _day(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat()


def _on(days: dict[int, Callable[[Mood], Mood]]) -> Calendar:
    return lambda number: days[number](calm(number)) if number in days else calm(number)


def _rows(seed: int, calendar: Calendar, period: Period) -> list[SignalRow]:
    since = before(period).since.isoformat()
    return [row for row in rows_of(list(traffic(seed, calendar=calendar))) if row.key >= since]


def _standings(seed: int, calendar: Calendar, period: Period) -> dict[str, Standing]:
    found = standings(_rows(seed, calendar, period), None, period=period)
    return {one.signal.key: one for one in found}


def _alarms(one: Standing) -> list[str]:
    return [day.point.day for day in one.alarms]


def test_calm_days_raise_an_alarm_in_fewer_than_one_of_twenty_series() -> None:
    alarming = [
        seed
        for seed in SEEDS
        if any(one.alarms for one in _standings(seed, calm, TWO_DAYS).values())
    ]
    assert len(alarming) * 20 < len(SEEDS), alarming


def test_a_slow_day_is_found_and_no_other() -> None:
    calendar = _on({37: lambda mood: replace(mood, slower=2.0)})
    for seed in range(10):
        found = _standings(seed, calendar, WEEK)
        for key in ("p50_ms", "compute_ms", "prefill_ms", "decode_ms"):
            assert _alarms(found[key]) == [_day(37)], (seed, key)
        assert _alarms(found["top_cosine"]) == []
        assert _alarms(found["refused"]) == []


def test_days_of_foreign_questions_are_found_by_their_cosine() -> None:
    foreign = dict.fromkeys((35, 36), lambda mood: replace(mood, foreign=0.8))
    for seed in range(10):
        found = _standings(seed, _on(foreign), WEEK)
        assert _alarms(found["top_cosine"]) == [_day(35), _day(36)], seed
        assert _alarms(found["p50_ms"]) == []


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("failed", lambda mood: replace(mood, failed=0.5)),
        ("flagged_per_1000", lambda mood: replace(mood, flagged=0.6)),
        ("fallbacks", lambda mood: replace(mood, fallback=0.6)),
        ("refused", lambda mood: replace(mood, refused=0.7)),
    ],
)
def test_a_day_of_faults_is_found_by_its_own_signal(
    key: str, change: Callable[[Mood], Mood]
) -> None:
    for seed in range(5):
        assert _alarms(_standings(seed, _on({38: change}), WEEK)[key]) == [_day(38)]


def _drift(seed: int, calendar: Calendar) -> Drift:
    return drift_of(_rows(seed, calendar, WEEK), [], period=WEEK)


def test_a_shift_too_small_for_a_day_shows_on_all_days_together() -> None:
    third = _on({n: lambda mood: replace(mood, foreign=0.3) for n in range(33, 40)})
    together = sum(_drift(seed, third).together == "below" for seed in range(30))
    assert together >= 20
    assert sum(_drift(seed, calm).together == "below" for seed in range(30)) <= 1
    seed = next(
        s
        for s in range(100)
        if _drift(s, third).together == "below"
        and not any(one.day.side for one in _drift(s, third).days)
    )
    assert _drift(seed, third).shifted  # its lowest days, so that questions can be shown


def test_the_share_not_covered_stands_beside_its_day() -> None:
    below = [BelowBound(day=_day(36), questions=20, below=5)]
    found = drift_of(_rows(0, calm, WEEK), below, period=WEEK)
    assert [one.uncovered for one in found.days] == [None, None, None, 0.25, None, None, None]


def _points(values: Sequence[float | None], questions: int = 40) -> list[Point]:
    return [
        Point(day=_day(at), value=value, questions=questions) for at, value in enumerate(values)
    ]


def test_a_band_needs_eight_days_with_five_questions() -> None:
    enough = _points([100.0] * LEAST_DAYS)
    assert normal_of(enough, "ratio") is not None
    assert normal_of(enough[1:], "ratio") is None
    assert normal_of([*enough[1:], replace(enough[0], questions=4)], "ratio") is None
    assert normal_of([*enough[1:], replace(enough[0], value=None)], "ratio") is None


@pytest.mark.parametrize(
    ("scale", "usual", "inside", "above", "below"),
    [
        ("ratio", 1000.0, 1100.0, 2000.0, 500.0),
        ("plain", 0.66, 0.67, 0.75, 0.55),
        ("share", 0.5, 0.6, 0.95, 0.05),
    ],
)
def test_what_never_changes_still_has_a_band(
    scale: Scale, usual: float, inside: float, above: float, below: float
) -> None:
    normal = normal_of(_points([usual] * 20), scale)
    assert normal is not None
    sides = [normal.side_of(point) for point in _points([usual, inside, above, below])]
    assert sides == ["", "", "above", "below"]
    band = normal.band()
    assert below < band.low < usual < band.high < above
    assert band.middle == pytest.approx(usual)


def test_a_day_of_few_questions_has_a_wider_band_and_one_of_four_none() -> None:
    for scale, usual, odd in (("plain", 0.66, 0.60), ("share", 0.02, 0.2)):
        normal = normal_of(_points([usual] * 20), scale)  # type: ignore[arg-type]
        assert normal is not None
        sides = [normal.side_of(Point(day="d", value=odd, questions=n)) for n in (40, 5, 4)]
        assert sides[0] != ""
        assert sides[1:] == ["", ""]
        small, large = normal.band(5), normal.band(40)
        assert small.high > large.high


def test_shares_of_none_and_of_all_have_bands_within_bounds() -> None:
    for usual in (0.0, 1.0):
        normal = normal_of(_points([usual] * 10), "share")
        assert normal is not None
        band = normal.band()
        assert 0.0 <= band.low <= band.middle <= band.high <= 1.0
        assert normal.side_of(Point(day="d", value=usual, questions=1000)) == ""
        assert normal.side_of(Point(day="d", value=0.5, questions=1000)) != ""


def test_a_day_without_questions_is_a_gap_and_a_better_day_is_no_alarm() -> None:
    rows = [row for row in _rows(1, calm, WEEK) if row.key != _day(36)]
    rows = [replace(row, p50_ms=10.0) if row.key == _day(38) else row for row in rows]
    found = {one.signal.key: one for one in standings(rows, None, period=WEEK)}
    days = found["p50_ms"].days
    assert [day.point.value is None for day in days] == [n == 36 for n in range(33, 40)]
    assert [day.point.day for day in found["p50_ms"].left] == [_day(38)]
    assert found["p50_ms"].alarms == ()


def test_every_signal_says_what_a_change_means() -> None:
    assert len({one.key for one in SIGNALS}) == len(SIGNALS)
    assert all(one.meaning and one.label for one in SIGNALS)


NOW = datetime(2026, 3, 4, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "since"),
    [("1d", "2026-03-03"), ("7d", "2026-02-25"), ("2w", "2026-02-18"), ("1h", "2026-03-04"),
     ("2h", "2026-03-03"), ("0d", "2026-03-04"), (" 36H ", "2026-03-02"),
     ("2026-01-31", "2026-01-31"), ("30m", "2026-03-04"), ("91m", "2026-03-03"),
     ("2026-01-31T23:30-01:00", "2026-02-01")],
)  # fmt: skip
def test_a_time_ago_begins_with_the_day_it_falls_on_and_ends_with_today(
    text: str, since: str
) -> None:
    period = period_since(text, now=NOW)
    assert (period.since.isoformat(), period.until.isoformat()) == (since, "2026-03-05")


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "-1d", "7y", "9999w", "2026-13-01", "2027-01-01"]
)
def test_what_is_no_time_ago_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        period_since(text, now=NOW)


def test_the_days_before_a_period_end_where_it_begins() -> None:
    period = period_since("2d", now=NOW)
    assert list(days_of(period)) == ["2026-03-02", "2026-03-03", "2026-03-04"]
    assert before(period).until == period.since
    assert len(list(days_of(before(period)))) == 28


def test_a_sparkline_goes_from_least_to_greatest_and_leaves_gaps() -> None:
    assert sparkline([1.0, None, 8.0]) == "▁ █"
    assert sparkline([1.0, None, 8.0], unicode=False) == "_ @"
    assert sparkline([3.0, 3.0]) == "▅▅"
    assert sparkline([0.0, 0.0]) == "▁▁"
    assert sparkline([]) == sparkline([None]) == ""
    assert len(sparkline([float(n) for n in range(90)], width=30)) == 30
