"""Breakers: the rules alone, in one process, and shared through the database."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest

from ragctl.db.breakers import StoredBreakers
from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.errors import DatabaseError, DatabaseUnsuitable, ModelError, ModelMissing
from ragctl.gateway.breaker import GuardedBreakers, OwnBreakers, counts_against
from ragctl.protocols import Breakers

Connection = psycopg.Connection[tuple[object, ...]]
ROUTE = "ollama|http://127.0.0.1:11434|llama3"
OTHER = "ollama|http://10.0.0.1:11434|llama3"


@dataclass
class Kept:
    """Breakers, and a way to let time pass for them."""

    breakers: Breakers
    pass_time: Callable[[float], None]

    def may_go(self, route: str = ROUTE) -> bool:
        return self.breakers.permit(route, probe_seconds=10).may_go

    def fail(self, times: int = 1, *, is_probe: bool = False, route: str = ROUTE) -> None:
        for _ in range(times):
            self.breakers.failed(route, is_probe=is_probe, error="http 503")


def _own() -> Kept:
    now = [1000.0]

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    return Kept(OwnBreakers(clock=lambda: now[0]), pass_time)


def _stored(database: Database, connection: Connection) -> Kept:
    def pass_time(seconds: float) -> None:
        connection.execute(
            "UPDATE breakers SET opened_at = opened_at - make_interval(secs => %(s)s), "
            "probe_until = probe_until - make_interval(secs => %(s)s)",
            {"s": seconds},
        )

    return Kept(database.breakers, pass_time)


@pytest.fixture(params=["own", "stored"])
def kept(request: pytest.FixtureRequest) -> Iterator[Kept]:
    """Breakers of each kind: both must keep to the same rules."""
    if request.param == "own":
        yield _own()
    else:
        yield _stored(request.getfixturevalue("database"), request.getfixturevalue("connection"))


def test_three_failures_in_a_row_open_it_and_two_do_not(kept: Kept) -> None:
    kept.fail(2)
    assert kept.may_go()
    kept.fail()
    assert not kept.may_go()
    assert kept.may_go(OTHER)


def test_a_success_in_between_starts_the_count_anew(kept: Kept) -> None:
    kept.fail(2)
    kept.breakers.succeeded(ROUTE)
    kept.fail(2)
    assert kept.may_go()


def test_it_stays_open_for_thirty_seconds_and_says_how_long(kept: Kept) -> None:
    kept.fail(3)
    kept.pass_time(10)
    permit = kept.breakers.permit(ROUTE, probe_seconds=10)
    assert not permit.may_go
    assert 15 < permit.seconds_left <= 20
    kept.pass_time(15)
    assert not kept.may_go()


def test_then_one_probe_goes_and_no_other(kept: Kept) -> None:
    kept.fail(3)
    kept.pass_time(31)
    permit = kept.breakers.permit(ROUTE, probe_seconds=10)
    assert (permit.may_go, permit.is_probe) == (True, True)
    assert not kept.may_go()


def test_a_probe_that_answers_closes_it(kept: Kept) -> None:
    kept.fail(3)
    kept.pass_time(31)
    assert kept.may_go()
    kept.breakers.succeeded(ROUTE)
    permit = kept.breakers.permit(ROUTE, probe_seconds=10)
    assert (permit.may_go, permit.is_probe) == (True, False)
    kept.fail(2)
    assert kept.may_go()


def test_a_probe_that_fails_opens_it_for_as_long_again(kept: Kept) -> None:
    kept.fail(3)
    kept.pass_time(31)
    assert kept.may_go()
    kept.fail(is_probe=True)
    kept.pass_time(25)
    assert not kept.may_go()
    kept.pass_time(6)
    assert kept.may_go()


def test_a_probe_that_is_never_heard_of_again_is_followed_by_another(kept: Kept) -> None:
    kept.fail(3)
    kept.pass_time(31)
    assert kept.may_go()
    kept.pass_time(9)
    assert not kept.may_go()
    kept.pass_time(2)
    assert kept.may_go()


def test_a_probe_that_was_stopped_is_followed_by_the_next_question(kept: Kept) -> None:
    kept.fail(3)
    kept.breakers.released(ROUTE)
    assert not kept.may_go()
    kept.pass_time(31)
    assert kept.may_go()
    assert not kept.may_go()
    kept.breakers.released(ROUTE)
    assert kept.may_go()


def test_late_failures_from_before_it_opened_do_not_keep_it_open(kept: Kept) -> None:
    kept.fail(3)
    kept.pass_time(20)
    kept.fail()
    kept.pass_time(11)
    assert kept.may_go()


def test_of_many_sessions_that_ask_at_once_one_is_the_probe(
    database: Database, connection: Connection
) -> None:
    stored = _stored(database, connection)
    stored.fail(3)
    stored.pass_time(31)
    start = threading.Barrier(12)
    probes: list[bool] = []

    def ask() -> None:
        with Database.over(connect(database.url), database.url) as own:
            start.wait(timeout=30)
            permit = own.breakers.permit(ROUTE, probe_seconds=10)
            probes.append(permit.is_probe)
            assert permit.may_go == permit.is_probe

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(probes) == [False] * 11 + [True]


def test_other_processes_see_the_same_state(database: Database) -> None:
    program = (
        "import sys\n"
        "from ragctl.db.connect import connect\n"
        "from ragctl.db.database import Database\n"
        "with Database.over(connect(sys.argv[1]), sys.argv[1]) as database:\n"
        "    database.breakers.failed(sys.argv[2], is_probe=False, error='http 503')\n"
        "    print(database.breakers.permit(sys.argv[2], probe_seconds=1).may_go)\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program, database.url, ROUTE],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.strip()
        for _ in range(3)
    ]
    assert said == ["True", "True", "False"]
    state = database.breakers.all()[ROUTE]
    assert (state.state, state.failures, state.last_error) == ("open", 3, "http 503")


def test_states_tell_open_half_open_and_closed(database: Database, connection: Connection) -> None:
    stored = _stored(database, connection)
    stored.fail(1, route=OTHER)
    stored.fail(3)
    assert {key: one.state for key, one in database.breakers.all().items()} == {
        OTHER: "closed",
        ROUTE: "open",
    }
    stored.pass_time(31)
    assert database.breakers.all()[ROUTE].state == "half-open"
    assert stored.may_go()
    assert database.breakers.all()[ROUTE].is_probing
    assert database.breakers.reset([ROUTE, "unknown"]) == [ROUTE]
    assert stored.may_go()


def test_an_error_with_nul_or_of_any_length_is_kept_as_far_as_a_column_takes_it(
    database: Database,
) -> None:
    database.breakers.failed(ROUTE, is_probe=False, error="a\0b\ud800" + "x" * 10_000)
    assert database.breakers.all()[ROUTE].last_error.startswith("a\ufffdb\ufffd")


class _Refusing:
    """Breakers without rights."""

    def __init__(self) -> None:
        self.asked = 0

    def permit(self, route: str, *, probe_seconds: float) -> object:
        self.asked += 1
        raise DatabaseUnsuitable("no rights")

    def succeeded(self, route: str) -> None:
        raise AssertionError("asked after it refused")

    failed = released = succeeded


def test_a_database_that_refuses_is_asked_once_and_the_process_keeps_its_own() -> None:
    told: list[DatabaseError] = []
    refusing = _Refusing()
    own = _own()
    guarded = GuardedBreakers(refusing, own.breakers, on_lost=told.append)  # type: ignore[arg-type]
    kept = Kept(guarded, own.pass_time)
    for _ in range(3):
        assert kept.may_go()
        kept.fail()
    assert not kept.may_go()
    guarded.succeeded(ROUTE)
    assert kept.may_go()
    assert (len(told), refusing.asked) == (1, 1)


def test_a_role_that_may_only_read_is_told_as_such(
    database: Database, connection: Connection
) -> None:
    connection.execute("DROP ROLE IF EXISTS breaker_reader")
    connection.execute("CREATE ROLE breaker_reader")
    connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO breaker_reader")
    try:
        with connect(database.url) as as_reader:
            as_reader.execute("SET ROLE breaker_reader")
            with pytest.raises(DatabaseUnsuitable):
                StoredBreakers(as_reader, database.url).permit(ROUTE, probe_seconds=1)
            as_reader.execute("RESET ROLE")
            as_reader.execute("SET default_transaction_read_only = on")
            with pytest.raises(DatabaseUnsuitable, match="read-only"):
                StoredBreakers(as_reader, database.url).failed(ROUTE, is_probe=False, error="")
    finally:
        connection.execute("DROP OWNED BY breaker_reader")
        connection.execute("DROP ROLE breaker_reader")


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (ModelError("x", outcome="http 503"), True),
        (ModelError("x", outcome="http 429"), True),
        (ModelError("x", outcome="timeout (connect)"), True),
        (ModelError("x", outcome="http 401"), False),
        (ModelMissing("x", outcome="no key"), False),
    ],
)
def test_who_lacks_a_key_does_not_close_a_route_to_others(error: ModelError, counts: bool) -> None:
    assert counts_against(error) == counts
