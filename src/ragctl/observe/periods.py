"""From ``7d`` or a date to the days that are looked at, and the days before them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from ragctl.errors import UsageError
from ragctl.observe.moments import moment
from ragctl.records.signals import Period

BEFORE_DAYS: Final = 28
"""How many days before a period tell what is normal."""

_MOST_DAYS: Final = 3660


def period_since(text: str, *, now: datetime) -> Period:
    """Return the days from the one that lay so long ago up to and with today, in UTC.

    ``text`` is what :func:`~ragctl.observe.moments.moment` reads. Raises
    :class:`~ragctl.errors.UsageError` for anything else, for a day to come, and for one too long
    ago.
    """
    now = now.astimezone(UTC)
    since = moment(text, now=now, option="--since").astimezone(UTC).date()
    if since > now.date():
        raise UsageError(f"{text!r} is yet to come", hint="Give a day that has begun.")
    if now.date() - since > timedelta(days=_MOST_DAYS):
        raise UsageError(f"{text!r} is too long ago", hint=f"At most {_MOST_DAYS:,} days are read.")
    return Period(since=since, until=now.date() + timedelta(days=1))


def before(period: Period) -> Period:
    """Return the days before a period that tell what is normal."""
    return Period(since=period.since - timedelta(days=BEFORE_DAYS), until=period.since)


def days_of(period: Period) -> Iterator[str]:
    """Yield every day of a period, as 2026-01-31."""
    for number in range((period.until - period.since).days):
        yield (period.since + timedelta(days=number)).isoformat()
