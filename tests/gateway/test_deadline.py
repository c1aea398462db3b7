"""How the time of one question is shared between routes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragctl.gateway.deadline import Deadlines, share_of

SECONDS = st.floats(min_value=0.01, max_value=500, allow_nan=False)
DEADLINES = st.builds(
    Deadlines, connect_seconds=SECONDS, first_token_seconds=SECONDS, total_seconds=SECONDS
)


def deadlines(connect: float, first: float, total: float) -> Deadlines:
    return Deadlines(connect_seconds=connect, first_token_seconds=first, total_seconds=total)


def test_a_route_alone_has_its_own_deadlines() -> None:
    alone = deadlines(5, 30, 120)
    assert share_of(alone, [], left_seconds=300) == alone


def test_a_route_leaves_the_later_ones_their_least() -> None:
    first, later = deadlines(5, 30, 500), [deadlines(2, 8, 60), deadlines(1, 4, 60)]
    share = share_of(first, later, left_seconds=100)
    assert share is not None
    assert share.total_seconds == 100 - (2 + 8) - (1 + 4)
    assert (share.connect_seconds, share.first_token_seconds) == (5, 30)


def test_a_budget_that_is_too_small_is_shared_in_proportion() -> None:
    first, second = deadlines(2, 8, 60), deadlines(5, 25, 60)
    share = share_of(first, [second], left_seconds=20)
    assert share is not None
    assert share.total_seconds == pytest.approx(20 * 10 / 40)
    rest = share_of(second, [], left_seconds=20 - share.total_seconds)
    assert rest is not None
    assert rest.total_seconds == pytest.approx(15)


def test_without_time_there_is_no_share() -> None:
    assert share_of(deadlines(1, 1, 1), [], left_seconds=0) is None
    assert share_of(deadlines(1, 1, 1), [], left_seconds=-3) is None


@given(routes=st.lists(DEADLINES, min_size=1, max_size=5), budget=SECONDS)
def test_however_the_routes_hang_each_gets_its_least_or_its_part_of_the_budget(
    routes: list[Deadlines], budget: float
) -> None:
    least = sum(route.least_seconds for route in routes)
    left = budget
    for number, route in enumerate(routes):
        share = share_of(route, routes[number + 1 :], left_seconds=left)
        assert share is not None
        promised = min(1.0, budget / least) * route.least_seconds
        assert share.total_seconds >= promised * 0.999
        both = share.connect_seconds + share.first_token_seconds
        assert both <= share.total_seconds * 1.001
        left -= share.total_seconds  # it hangs to its end
    assert left >= -0.001 * budget


def test_what_an_early_failure_leaves_goes_to_the_later_ones() -> None:
    first, second = deadlines(1, 4, 20), deadlines(1, 4, 20)
    shares = [share_of(second, [], left_seconds=left) for left in (5.0, 10.0, 15.0)]
    totals = [share.total_seconds for share in shares if share is not None]
    assert all(shorter < longer for shorter, longer in pairwise(totals))
    assert share_of(first, [second], left_seconds=25.0) == first
