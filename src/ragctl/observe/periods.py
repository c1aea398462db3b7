"""From ``7d`` or a date to the days that are looked at, and the days before them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

from ragctl.errors import UsageError
from ragctl.records import Period

BEFORE_DAYS: Final = 28
"""How many days before a period tell what is normal."""

_AGO: Final = re.compile(r"(\d{1,4})\s*([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24}
_MOST_DAYS: Final = 3660


def period_since(text: str, *, now: datetime) -> Period:
    """Return the days from the one that lay so long ago up to and with today.

    ``text`` is hours, days or weeks (``36h``, ``7d``, ``4w``) or a date. Raises
    :class:`~ragctl.errors.UsageError` for anything else, and for a day to come.
    """
    today = now.astimezone(UTC).date()
    since = _day(text.strip().lower(), now.astimezone(UTC))
    if since is None:
        raise UsageError(
            f"{text!r} is no time to look back to",
            hint="Write days, weeks or hours as 7d, 4w or 36h, or a date as 2026-01-31.",
        )
    if since > today:
        raise UsageError(f"{text!r} is yet to come", hint="Give a day that has begun.")
    return Period(since=since, until=today + timedelta(days=1))


def _day(text: str, now: datetime) -> date | None:
    if match := _AGO.fullmatch(text):
        hours = int(match[1]) * _HOURS[match[2]]
        days = timedelta(hours=hours)
        return (now - days).date() if days <= timedelta(days=_MOST_DAYS) else None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def before(period: Period) -> Period:
    """Return the days before a period that tell what is normal."""
    return Period(since=period.since - timedelta(days=BEFORE_DAYS), until=period.since)


def days_of(period: Period) -> Iterator[str]:
    """Yield every day of a period, as 2026-01-31."""
    for number in range((period.until - period.since).days):
        yield (period.since + timedelta(days=number)).isoformat()
