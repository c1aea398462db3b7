"""The breaker of a route: closed, open, half-open (M. Nygard, "Release It!", 2007).

Three failures in a row open it; for 30 seconds nobody asks; then one question is let through as a
probe, whose end closes or opens it. The rules are pure functions over a state; ``OwnBreakers``
keeps states for one process, and ``GuardedBreakers`` falls back to that where the shared ones of
the database cannot be used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ragctl.errors import DatabaseError, ModelError, ModelMissing
from ragctl.records.gateway import Permit

if TYPE_CHECKING:
    from ragctl.protocols import Breakers

FAILURES_TO_OPEN: Final = 3
OPEN_SECONDS: Final = 30.0
_OUR_FAULT: Final = re.compile(r"http 4(?!08|29)\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """Failures in a row, when it opened, and until when a probe is under way."""

    failures: int = 0
    opened_at: float | None = None
    probe_until: float | None = None


def permitted(state: Breaker, *, now: float, probe_seconds: float) -> tuple[Breaker, Permit]:
    """Return whether the route may be asked, and the state after that."""
    if state.opened_at is None:
        return state, Permit(may_go=True)
    until = max(state.opened_at + OPEN_SECONDS, state.probe_until or state.opened_at)
    if now < until:
        return state, Permit(may_go=False, seconds_left=until - now)
    probing = replace(state, probe_until=now + probe_seconds)
    return probing, Permit(may_go=True, is_probe=True)


def failed(state: Breaker, *, now: float, is_probe: bool) -> Breaker:
    """Return the state after a failure; one from before it opened does not keep it open longer."""
    failures = state.failures + 1
    if is_probe:
        return Breaker(failures=failures, opened_at=now)
    opens = state.opened_at is None and failures >= FAILURES_TO_OPEN
    return replace(state, failures=failures, opened_at=now if opens else state.opened_at)


def counts_against(error: ModelError) -> bool:
    """Whether an error says something against the server: not for a wrong key, model or request.

    Breakers are shared, keys are not: who has none must not close the route to the others.
    """
    return not isinstance(error, ModelMissing) and not _OUR_FAULT.fullmatch(error.outcome)


class OwnBreakers:
    """A :class:`~ragctl.protocols.Breakers` of this process alone."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._states: dict[str, Breaker] = {}

    def permit(self, route: str, *, probe_seconds: float) -> Permit:
        """Return whether a route may be asked now."""
        state = self._states.get(route, Breaker())
        self._states[route], permit = permitted(
            state, now=self._clock(), probe_seconds=probe_seconds
        )
        return permit

    def succeeded(self, route: str) -> None:
        """Close the breaker of a route."""
        self._states.pop(route, None)

    def failed(self, route: str, *, is_probe: bool, error: str) -> None:
        """Count a failure of a route."""
        state = self._states.get(route, Breaker())
        self._states[route] = failed(state, now=self._clock(), is_probe=is_probe)

    def released(self, route: str) -> None:
        """Give a probe back."""
        self._states[route] = replace(self._states.get(route, Breaker()), probe_until=None)


class GuardedBreakers:
    """Shared breakers as long as the database has them, then breakers of this process.

    The first error goes to ``on_lost``; no question fails for it.
    """

    def __init__(
        self, shared: Breakers, own: Breakers, *, on_lost: Callable[[DatabaseError], None]
    ) -> None:
        self._used = shared
        self._own = own
        self._on_lost = on_lost

    def permit(self, route: str, *, probe_seconds: float) -> Permit:
        """Return whether a route may be asked now."""
        try:
            return self._used.permit(route, probe_seconds=probe_seconds)
        except DatabaseError as error:
            self._lose(error)
            return self._used.permit(route, probe_seconds=probe_seconds)

    def succeeded(self, route: str) -> None:
        """Close the breaker of a route."""
        try:
            self._used.succeeded(route)
        except DatabaseError as error:
            self._lose(error)

    def failed(self, route: str, *, is_probe: bool, error: str) -> None:
        """Count a failure of a route."""
        try:
            self._used.failed(route, is_probe=is_probe, error=error)
        except DatabaseError as lost:
            self._lose(lost)
            self._used.failed(route, is_probe=is_probe, error=error)

    def released(self, route: str) -> None:
        """Give a probe back."""
        try:
            self._used.released(route)
        except DatabaseError as error:
            self._lose(error)

    def _lose(self, error: DatabaseError) -> None:
        self._used = self._own
        self._on_lost(error)
