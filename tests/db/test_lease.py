"""One ingest at a time: the lease, its end, and what follows a dead owner."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import psycopg
import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.statements import statement
from ragctl.errors import DatabaseBusy

Connection = psycopg.Connection[tuple[object, ...]]


def _other(url: str) -> Database:
    return Database.over(connect(url), url)


def _hold(connection: Connection, *, host: str, pid: int, seconds: int) -> None:
    connection.execute(
        "INSERT INTO ingest_lease (owner, host, pid, expires_at) "
        "VALUES ('other', %s, %s, now() + make_interval(secs => %s))",
        (host, pid, seconds),
    )


def _dead_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def test_a_second_ingest_is_told_who_is_at_work(database: Database) -> None:
    with (
        database.ingesting(),
        _other(database.url) as second,
        pytest.raises(DatabaseBusy, match=f"process {os.getpid()} on {socket.gethostname()}"),
        second.ingesting(),
    ):
        raise AssertionError("both hold the lease")


def test_the_lease_is_free_again_afterwards_also_after_an_error(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.ingesting():
        raise ZeroDivisionError
    with _other(database.url) as second, second.ingesting():
        pass


def test_a_dead_owner_on_this_machine_is_followed_at_once(
    database: Database, connection: Connection
) -> None:
    _hold(connection, host=socket.gethostname(), pid=_dead_pid(), seconds=1000)
    with database.ingesting():
        pass


def test_an_owner_elsewhere_is_followed_only_after_the_end(
    database: Database, connection: Connection
) -> None:
    _hold(connection, host="elsewhere", pid=_dead_pid(), seconds=1000)
    with pytest.raises(DatabaseBusy, match="on elsewhere"), database.ingesting():
        pass
    connection.execute("UPDATE ingest_lease SET expires_at = now() - interval '1 second'")
    with database.ingesting():
        pass


def test_a_run_that_lost_its_lease_cannot_write(database: Database, connection: Connection) -> None:
    with database.ingesting():
        connection.execute("UPDATE ingest_lease SET owner = 'other'")
        with pytest.raises(DatabaseBusy, match="taken over"), database.transaction():
            database.site.record("/x")
    assert connection.execute("SELECT FROM site").fetchall() == []


def test_waiting_ends_when_the_other_has_ended(database: Database, connection: Connection) -> None:
    _hold(connection, host="elsewhere", pid=1, seconds=1)
    told: list[str] = []
    with database.ingesting(wait=True, on_wait=lambda holder: told.append(str(holder))):
        pass
    assert len(told) == 1
    assert "elsewhere" in told[0]


def _impatient(url: str) -> Connection:
    """Connect so that waiting for a lock fails instead of hanging."""
    connection = connect(url)
    connection.execute("SET lock_timeout = '1s'")
    return connection


def test_a_second_ingest_is_told_at_once_also_while_the_first_writes(database: Database) -> None:
    with (
        database.ingesting(),
        database.transaction(),
        Database.over(_impatient(database.url), database.url) as second,
        pytest.raises(DatabaseBusy, match="another ingest is at work"),
        second.ingesting(),
    ):
        raise AssertionError("both hold the lease")


def test_a_lease_is_renewed_during_a_long_transaction_but_not_taken(database: Database) -> None:
    with _impatient(database.url) as other, database.ingesting(), database.transaction():
        row = other.execute("SELECT owner FROM ingest_lease").fetchone()
        assert row is not None
        renewed = other.execute(
            statement("ingest_lease/renew"), {"owner": row[0], "seconds": -1}
        ).rowcount
        assert renewed == 1
        taking = {"owner": "x", "host": "x", "pid": 1, "seconds": 9, "dead_owner": ""}
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.execute(statement("ingest_lease/take"), taking)
