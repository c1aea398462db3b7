"""Where a page stands in the reading order of its track."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping

_KEYS = ("weight", "order", "nav_order", "sidebar_position", "position")
_DATE_PREFIX = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_NUMBER_PREFIX = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]+")
_SECONDS_A_DAY = 86_400
_LANDING_STEMS = frozenset(("index", "_index", "readme"))


def reading_order(path: str, front_matter: Mapping[str, object]) -> tuple[float, str]:
    """Return the sort key of a page within its track.

    First a number: ``weight``, ``order``, ``nav_order``, ``sidebar_position`` or ``position`` of
    the front matter, else its ``date`` (days), else the number or date that the name begins with,
    else infinity. Then the name, in which ``2`` comes before ``10``. Below the track's folder the
    names of subfolders come first, so that the pages of one subfolder stay together.
    """
    name = _name_in_track(path)
    number = _from_front_matter(front_matter)
    if number is None:
        number = _from_name(name)
    return number, _NUMBER.sub(lambda match: match[0].zfill(12), name.casefold())


def stem_of(path: str) -> str:
    """Return the file's name without its extension; for the page of a bundle its folder's name."""
    parts = path.split("/")
    stem = parts[-1].rpartition(".")[0] or parts[-1]
    if stem.casefold() in _LANDING_STEMS and len(parts) > 1:
        return parts[-2]
    return stem


def _name_in_track(path: str) -> str:
    parts = path.split("/")
    inner = parts[1:-1] if len(parts) > 1 else []
    stem = parts[-1].rpartition(".")[0] or parts[-1]
    if not (stem.casefold() in _LANDING_STEMS and inner):
        inner = [*inner, stem]
    return "/".join(inner)


def _from_front_matter(front_matter: Mapping[str, object]) -> float | None:
    lowered = {key.casefold(): value for key, value in front_matter.items()}
    for key in _KEYS:
        number = _as_number(lowered.get(key))
        if number is not None:
            return number
    return _as_days(lowered.get("date"))


def _as_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _as_days(value: object) -> float | None:
    """Days since year 1 of an ISO date or time, ``None`` for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(value.strip())
    except ValueError:
        return _days_of_prefix(value.strip())
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return moment.toordinal() + seconds / _SECONDS_A_DAY


def _days_of_prefix(text: str) -> float | None:
    match = _DATE_PREFIX.match(text)
    if match is None:
        return None
    try:
        return float(datetime.date(int(match[1]), int(match[2]), int(match[3])).toordinal())
    except ValueError:
        return None


def _from_name(name: str) -> float:
    days = _days_of_prefix(name)
    if days is not None:
        return days
    match = _NUMBER_PREFIX.match(name)
    return float(match[0]) if match else math.inf
