"""A property of some input, as a short test of the suite and as a target of the soak.

``fuzzed`` makes a test of a function over generated inputs. In the suite its inputs are the same
in every run; :mod:`tests.soak.fuzz` runs the same function on ever new ones.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

SECONDS_AT_MOST = 2.0
"""Of the processor, for a page of 100 kB: far more is a hang, whatever machine it is."""

_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


class TookTooLong(AssertionError):
    """The code under test was still at work after the time allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A function that fails for an input with a fault, and where its inputs come from."""

    name: str
    holds: Callable[..., None]
    inputs: tuple[SearchStrategy[Any], ...]


def fuzzed(
    *inputs: SearchStrategy[Any], found: Sequence[tuple[Any, ...]] = (), runs: int = 60
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that makes a test of a function of as many values as ``inputs``.

    ``found`` are inputs that once failed, made small: they are replayed in every run of the suite,
    before ``runs`` generated ones.
    """

    def decorated(holds: Callable[..., None]) -> Callable[..., None]:
        test = given(*inputs)(holds)
        for values in found:
            test = example(*values)(test)
        test = settings(
            max_examples=runs,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=_HEALTH,
        )(test)
        test.__dict__["fuzzed"] = Property(name=holds.__name__, holds=holds, inputs=inputs)
        return test

    return decorated


class Round:
    """A property tried on new inputs; ``tried`` counts them, those of a failed round as well."""

    def __init__(self, one: Property, *, inputs: int, seconds_left: Callable[[], float]) -> None:
        self.tried = 0
        self._holds = one.holds
        self._has_failed = False
        self._seconds_left = seconds_left
        self._test = settings(
            max_examples=inputs, deadline=None, database=None, suppress_health_check=_HEALTH
        )(given(st.tuples(*one.inputs))(self._one))

    def run(self) -> None:
        """Try them; once no seconds are left the rest is passed over.

        Raises what the property raises, on the smallest input that was found to fail.
        """
        self._test()

    def _one(self, values: tuple[Any, ...]) -> None:
        if self._seconds_left() <= 0 and not self._has_failed:
            return
        self.tried += 1
        try:
            self._holds(*values)
        except Exception:
            self._has_failed = True  # the search for the smallest such input goes on to its end
            raise


@contextmanager
def in_time(seconds: float = SECONDS_AT_MOST) -> Iterator[None]:
    """Raise :class:`TookTooLong` in the block once it has used so much of the processor."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TookTooLong(f"still at work after {seconds:g} s of the processor")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
