"""The queue in front of the models and the questions a minute, on a real database."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.slots import StoredSlots
from ragctl.errors import DatabaseUnsuitable

Connection = psycopg.Connection[tuple[object, ...]]
WORK_SECONDS = 60.0


def rows(connection: Connection) -> int:
    found = connection.execute("SELECT count(*) FROM generation_slots").fetchone()
    assert found is not None
    return int(str(found[0]))


def lined_up(database: Database, count: int, *, at_once: int) -> list[StoredSlots]:
    """So many questions in line, the first one first."""
    questions = [database.slots(at_once=at_once) for _ in range(count)]
    for question in questions:
        question.queue()
    return questions


def taken(questions: list[StoredSlots]) -> list[bool]:
    return [question.take(work_seconds=WORK_SECONDS).is_taken for question in questions]


def test_as_many_as_may_work_at_once_have_a_slot(database: Database) -> None:
    questions = lined_up(database, 4, at_once=2)
    assert taken(questions) == [True, True, False, False]
    assert taken(questions) == [True, True, False, False]


def test_a_slot_that_is_given_back_goes_to_the_first_in_line(database: Database) -> None:
    first, second, third = lined_up(database, 3, at_once=1)
    assert taken([third, second, first]) == [False, False, True]
    first.release()
    assert taken([third, second]) == [False, True]


def test_who_looks_first_does_not_overtake_who_came_first(database: Database) -> None:
    first, second, third = lined_up(database, 3, at_once=2)
    assert not third.take(work_seconds=WORK_SECONDS).is_taken
    assert taken([second, first, third]) == [True, True, False]


def test_a_place_says_how_many_ahead_wait_and_work(database: Database) -> None:
    questions = lined_up(database, 4, at_once=1)
    assert questions[0].take(work_seconds=WORK_SECONDS).is_taken
    place = questions[3].take(work_seconds=WORK_SECONDS)
    assert (place.waiting, place.working) == (2, 1)


def test_leaving_the_line_lets_the_next_one_up(database: Database) -> None:
    first, second, third = lined_up(database, 3, at_once=1)
    assert taken([first]) == [True]
    second.release()
    first.release()
    assert taken([third]) == [True]


def test_releasing_what_was_never_had_is_harmless(
    database: Database, connection: Connection
) -> None:
    question = database.slots(at_once=1)
    question.release()
    question.queue()
    question.release()
    question.release()
    assert rows(connection) == 0


def test_a_slot_runs_out_by_the_clock_of_the_database(
    database: Database, connection: Connection
) -> None:
    lost, next_one = lined_up(database, 2, at_once=1)
    assert taken([lost, next_one]) == [True, False]
    connection.execute(
        "UPDATE generation_slots SET expires_at = clock_timestamp() - interval '1 second' "
        "WHERE taken_at IS NOT NULL"
    )
    assert taken([next_one]) == [True]
    next_one.release()
    assert rows(connection) == 0, "what ran out is cleared away"


def test_a_place_that_ran_out_is_the_last_in_line(
    database: Database, connection: Connection
) -> None:
    working, asleep, other = lined_up(database, 3, at_once=1)
    assert taken([working, asleep, other]) == [True, False, False]
    connection.execute(
        "UPDATE generation_slots SET expires_at = clock_timestamp() - interval '1 second' "
        "WHERE ticket = (SELECT ticket FROM generation_slots ORDER BY ticket OFFSET 1 LIMIT 1)"
    )
    assert asleep.take(work_seconds=WORK_SECONDS).waiting == 1
    working.release()
    assert taken([asleep, other]) == [False, True]


def test_a_killed_process_of_this_machine_frees_its_slot_at_once(
    database: Database, connection: Connection
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    killed, next_one = lined_up(database, 2, at_once=1)
    assert taken([killed]) == [True]
    connection.execute(
        "UPDATE generation_slots SET pid = %s WHERE taken_at IS NOT NULL", (gone.pid,)
    )
    assert taken([next_one, next_one]) == [False, True]


def test_no_more_than_allowed_work_however_many_connections_race(
    migrated_url: str, connection: Connection
) -> None:
    at_once, most, working = 3, 0, 0
    lock = threading.Lock()

    def ask() -> None:
        nonlocal most, working
        with Database.over(connect(migrated_url), migrated_url) as mine:
            question = mine.slots(at_once=at_once)
            question.queue()
            while not question.take(work_seconds=WORK_SECONDS).is_taken:
                time.sleep(0.001)
            with lock:
                working += 1
                most = max(most, working)
            time.sleep(0.005)
            with lock:
                working -= 1
            question.release()

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == at_once
    assert rows(connection) == 0


def test_somebody_asks_while_a_row_counts(database: Database, connection: Connection) -> None:
    assert not database.someone_asks()
    (question,) = lined_up(database, 1, at_once=1)
    assert database.someone_asks()
    connection.execute("UPDATE generation_slots SET expires_at = clock_timestamp()")
    assert not database.someone_asks()
    question.release()


def test_a_user_has_a_minutes_worth_and_then_waits(database: Database) -> None:
    permits = [database.rates.take("ann", per_minute=3) for _ in range(4)]
    assert [permit.may_go for permit in permits] == [True, True, True, False]
    assert 15 < permits[3].seconds_left <= 20
    assert database.rates.take("bob", per_minute=3).may_go


def test_questions_come_back_evenly_and_no_more_than_a_minutes_worth(
    database: Database, connection: Connection
) -> None:
    def pass_time(seconds: float) -> None:
        connection.execute(
            "UPDATE question_rates SET refilled_at = refilled_at - make_interval(secs => %s)",
            (seconds,),
        )

    for _ in range(2):
        assert database.rates.take("ann", per_minute=2).may_go
    pass_time(29)
    assert not database.rates.take("ann", per_minute=2).may_go
    pass_time(1)
    assert database.rates.take("ann", per_minute=2).may_go
    assert not database.rates.take("ann", per_minute=2).may_go
    pass_time(3600)
    answers = [database.rates.take("ann", per_minute=2).may_go for _ in range(3)]
    assert answers == [True, True, False]


def test_one_question_is_not_given_to_two_who_ask_at_once(
    migrated_url: str, database: Database
) -> None:
    allowed = []

    def ask() -> None:
        with Database.over(connect(migrated_url), migrated_url) as mine:
            allowed.append(mine.rates.take("ann", per_minute=4).may_go)

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(allowed) == 4


@pytest.fixture
def reader(migrated_url: str, connection: Connection) -> Iterator[Database]:
    """The database as a role sees it that may only read."""
    role = sql.Identifier("limits_reader")
    connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(role))
    connection.execute(sql.SQL("CREATE ROLE {}").format(role))
    connection.execute(sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(role))
    mine = connect(migrated_url)
    mine.execute(sql.SQL("SET ROLE {}").format(role))
    with Database.over(mine, migrated_url) as opened:
        yield opened
    connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
    connection.execute(sql.SQL("DROP ROLE {}").format(role))


def test_without_rights_nothing_goes_and_the_message_names_the_grants(
    reader: Database, connection: Connection
) -> None:
    with pytest.raises(DatabaseUnsuitable, match=r"limits[.]generations") as refused:
        reader.slots(at_once=1).queue()
    with pytest.raises(DatabaseUnsuitable, match=r"limits[.]questions_per_minute") as unmetered:
        reader.rates.take("ann", per_minute=1)
    for error in (refused.value, unmetered.value):
        for grant in error.hint.partition(": ")[2].split("; "):
            connection.execute(grant.replace("the role", "limits_reader").encode())
    question = reader.slots(at_once=1)
    question.queue()
    assert question.take(work_seconds=WORK_SECONDS).is_taken
    question.release()
    assert reader.rates.take("ann", per_minute=1).may_go
