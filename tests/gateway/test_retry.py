"""When a route is asked again, and after which wait."""

from __future__ import annotations

import pytest

from ragctl.errors import ModelError, ModelReplyError, ModelUnreachable
from ragctl.gateway.retry import wait_before_retry

BUSY = ModelUnreachable("busy", outcome="http 503", may_clear=True)


def wait(
    error: ModelError = BUSY, *, tries: int = 1, left: float = 60.0, chance: float = 1.0
) -> float | None:
    return wait_before_retry(
        error, tries=tries, retries=3, left_seconds=left, chance=lambda: chance
    )


def test_only_what_may_clear_is_tried_again() -> None:
    assert wait() is not None
    assert wait(ModelReplyError("garbage", outcome="garbage")) is None
    assert wait(ModelUnreachable("late", outcome="timeout (first token)")) is None


def test_tries_end() -> None:
    assert wait(tries=3) is not None
    assert wait(tries=4) is None


def test_the_limit_of_the_wait_doubles_and_chance_takes_any_part_of_it() -> None:
    assert [wait(tries=tries) for tries in (1, 2, 3)] == [0.25, 0.5, 1.0]
    assert [wait(tries=2, chance=chance) for chance in (0.0, 0.5)] == [0.0, 0.25]


@pytest.mark.parametrize(("asked", "left", "expected"), [(3.0, 60.0, 3.0), (40.0, 60.0, None)])
def test_what_the_server_asks_for_is_honoured_within_the_time_that_is_left(
    asked: float, left: float, expected: float | None
) -> None:
    busy = ModelUnreachable("busy", may_clear=True, retry_after_seconds=asked)
    assert wait(busy, left=left) == expected
