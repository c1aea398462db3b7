"""Moments and ages as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragctl.errors import UsageError
from ragctl.observe.moments import duration, moment

HERE = timezone(timedelta(hours=2))
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=HERE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("6h", NOW - timedelta(hours=6)),
        ("7d", NOW - timedelta(days=7)),
        (" 2W ", NOW - timedelta(weeks=2)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=HERE)),
        ("2026-11-01T08:30", datetime(2026, 11, 1, 8, 30, tzinfo=HERE)),
        ("2026-11-01T08:30Z", datetime(2026, 11, 1, 8, 30, tzinfo=UTC)),
        ("999999w", datetime.min.replace(tzinfo=UTC)),
    ],
)
def test_a_moment_is_so_long_ago_or_a_date(text: str, expected: datetime) -> None:
    assert moment(text, now=NOW, option="--since") == expected


@pytest.mark.parametrize("text", ["", "yesterday", "7", "7x", "-7d", "2026-13-01", "1.5h"])
def test_what_is_no_moment_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="--since"):
        moment(text, now=NOW, option="--since")


@pytest.mark.parametrize("text", ["", "30", "2026-11-01", "m", "9999999d"])
def test_what_is_no_age_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match="--older-than"):
        duration(text, option="--older-than")
