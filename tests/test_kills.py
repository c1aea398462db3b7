"""A kill at each point of an ingest; scripts/soak tries many more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.soak.faults import Fault, Point, Trial, survive
from tests.soak.rig import Rig, a_rig


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """A server of its own: it is killed."""
    with a_rig() as made:
        yield made


@pytest.mark.parametrize(
    ("point", "fault"),
    [
        ("parse", "SIGINT"),
        ("model", "SIGKILL"),
        ("write", "backend"),
        ("commit", "SIGKILL"),
        ("swap", "server"),
        ("migration", "SIGTERM"),
    ],
)
def test_a_killed_ingest_leaves_whole_pages_and_the_next_ends_with_the_rows_of_a_fresh_one(
    point: Point, fault: Fault, rig: Rig
) -> None:
    survive(Trial(number=0, point=point, fault=fault, seed=7), rig)
