"""Moments and durations as people type them: ``30m``, ``6h``, ``7d``, ``2026-11-01``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from ragctl.errors import UsageError

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration(text: str, *, option: str) -> timedelta:
    """Return a duration such as ``30m``, ``6h``, ``7d`` or ``2w``.

    Raises :class:`~ragctl.errors.UsageError` naming ``option`` for anything else.
    """
    found = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text.strip().lower())
    if found is None:
        raise UsageError(f"{option} {text!r} is no duration", hint="Write it as 30m, 6h, 7d or 2w.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def moment(text: str, *, now: datetime, option: str) -> datetime:
    """Return the moment so long before ``now``, or a date or time as ISO 8601 has it.

    A time without a zone is one of ``now``'s zone. Raises :class:`~ragctl.errors.UsageError`
    naming ``option`` for anything else.
    """
    if re.fullmatch(r"\d+\s*[mhdw]", text.strip().lower()):
        try:
            return now - duration(text, option=option)
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        told = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no moment",
            hint="Write it as 30m, 6h, 7d, 2w, 2026-11-01 or 2026-11-01T08:30.",
        ) from None
    return told if told.tzinfo else told.replace(tzinfo=now.tzinfo)
