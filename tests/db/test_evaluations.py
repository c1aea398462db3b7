"""The table of runs: what is kept, and what was there before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import sql

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.evaluations import Outcome
from ragctl.errors import DatabaseError, DatabaseUnsuitable
from ragctl.evaluate.runs import changes, what_differs
from ragctl.records.evaluations import Evaluation, PastEvaluation

AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def run(number: int, **changed: object) -> Evaluation:
    """A run, each a minute after the one before."""
    made = Evaluation(
        id=f"run-{number:03}",
        at=AT + timedelta(minutes=number),
        kind="retrieval",
        file="questions.jsonl",
        file_sha256="aa",
        label="hybrid",
        k=5,
        embedding_model="ollama/nomic-embed-text",
        chunker="structured",
        chunker_parameters={"size": 1200},
        passages=100,
        program_version="0.1.0",
        questions=20,
        figures={"facts_at_k": 0.5, "mrr": None},
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def _history(database: Database, **wanted: object) -> tuple[PastEvaluation, ...]:
    filters: dict[str, object] = {"kind": None, "file": None, "at_most": 20}
    return database.evaluations.history(**(filters | wanted))  # type: ignore[arg-type]


def test_runs_come_back_newest_first_each_with_the_one_before(database: Database) -> None:
    first, second = run(1), run(2, figures={"facts_at_k": 0.75, "mrr": 0.9})
    database.evaluations.record([(first, [{"id": "a", "page_rank": 1, "missing": None}])])
    database.evaluations.record([(second, [])])
    assert _history(database) == (
        PastEvaluation(run=second, before=first),
        PastEvaluation(run=first, before=None),
    )
    assert changes(_history(database)[0]) == {"facts_at_k": 0.25, "mrr": None}
    assert changes(_history(database)[1]) == {"facts_at_k": None, "mrr": None}


def test_only_the_same_questions_kind_label_and_k_are_compared(database: Database) -> None:
    others = [
        run(1, file_sha256="bb"),
        run(2, kind="answers"),
        run(3, label="vector"),
        run(4, k=7),
        run(5),
    ]
    database.evaluations.record([(each, []) for each in others])
    assert all(past.before is None for past in _history(database))
    renamed = run(6, file="renamed.jsonl")
    database.evaluations.record([(renamed, [])])
    assert _history(database)[0].before == others[4]


def test_filters_and_limit_hide_runs_but_not_what_was_before(database: Database) -> None:
    database.evaluations.record(
        [(run(1), []), (run(2, file="other.jsonl"), []), (run(3, kind="answers"), [])]
    )
    assert [past.run.id for past in _history(database, kind="answers")] == ["run-003"]
    (found,) = _history(database, file="other.jsonl")
    assert found.before is not None
    assert found.before.id == "run-001"
    assert [past.run.id for past in _history(database, at_most=1)] == ["run-003"]
    assert _history(database, kind="\0\udc80") == ()


def test_what_differs_from_the_run_before_is_named(database: Database) -> None:
    database.evaluations.record([(run(1), []), (run(2), [])])
    assert what_differs(_history(database)[0]) == ()
    later = run(
        3,
        embedding_model="local/other",
        chunker_parameters={"size": 800},
        passages=90,
        program_version="0.2.0",
    )
    database.evaluations.record([(later, [])])
    assert what_differs(_history(database)[0]) == ("model", "chunker", "passages", "program")
    assert what_differs(PastEvaluation(run=later, before=None)) == ()


def test_what_came_of_each_question_can_be_queried(
    database: Database, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    outcomes: list[Outcome] = [{"id": "a\0", "page_rank": 2, "section_rank": None, "missing": 1}]
    database.evaluations.record([(run(1, file="q\udc80.jsonl"), outcomes)])
    rows = connection.execute(
        "SELECT file, each ->> 'id', (each ->> 'page_rank')::int, each ->> 'section_rank' "
        "FROM evaluations, jsonb_array_elements(per_question) AS each"
    ).fetchall()
    assert rows == [("q\ufffd.jsonl", "a\ufffd", 2, None)]


def test_several_runs_are_stored_all_or_none(database: Database) -> None:
    with pytest.raises(DatabaseError):
        database.evaluations.record([(run(1), []), (run(1), [])])
    assert _history(database) == ()


def _as_reader(url: str) -> str:
    with connect(url) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE reader_of_runs LOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_runs")
    separator = "&" if "?" in url else "?"
    return f"{url}{separator}user=reader_of_runs"


def _read_only(url: str) -> str:
    with connect(url) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name)
        )
    return url


@pytest.mark.parametrize("weaken", [_as_reader, _read_only])
def test_without_the_right_to_write_it_says_so_and_reading_goes_on(
    weaken: Callable[[str], str], migrated_url: str
) -> None:
    url = weaken(migrated_url)
    with Database.over(connect(url), url) as database:
        with pytest.raises(DatabaseUnsuitable):
            database.evaluations.record([(run(1), [])])
        assert _history(database) == ()


def test_who_may_insert_alone_can_record(migrated_url: str) -> None:
    url = _as_reader(migrated_url)
    with connect(migrated_url) as connection:
        connection.execute("GRANT INSERT ON evaluations TO reader_of_runs")
        connection.execute("REVOKE SELECT ON evaluations FROM reader_of_runs")
    with Database.over(connect(url), url) as database:
        database.evaluations.record([(run(1), [])])
