"""The tables of traces, and the exact rank of a passage."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.server import EmbeddedServer
from ragctl.db.traces import UPKEEP_BATCH
from ragctl.errors import DatabaseError, DatabaseUnreachable, DatabaseUnsuitable, ModelMissing
from ragctl.observe.traces import trace_id, trace_of, trace_of_failure, without_texts
from ragctl.records.chunks import Chunk, EmbeddedChunk
from ragctl.records.pages import Page
from ragctl.records.search import Query
from ragctl.records.traces import Trace, TraceFilter
from tests.observe.test_traces import ASKED, AT, SPANS, answered

Connection = psycopg.Connection[tuple[object, ...]]


def _trace(number: int = 0, **changes: object) -> Trace:
    new_id = trace_id(AT, number.to_bytes(10, "big"))
    made = trace_of(new_id, ASKED, answered(), SPANS)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_trace_comes_back_as_it_was_stored(database: Database) -> None:
    failed = trace_of_failure(
        trace_id(AT, b"\xff" * 10), ASKED, ModelMissing("no llama3"), prompt=None, text="",
        total_ms=3.0, spans=SPANS[:2],
    )  # fmt: skip
    for trace in (_trace(), without_texts(_trace(1)), failed):
        database.traces.record(trace)
        assert database.traces.recent(at_most=1) == [trace]
    assert len(database.traces.recent(at_most=10)) == 3


def test_ids_are_found_by_their_beginning(database: Database) -> None:
    first, second = _trace(1), _trace(2)
    for trace in (first, second):
        database.traces.record(trace)
    assert database.traces.beginning_with(first.id, at_most=5) == [first]
    assert database.traces.beginning_with(first.id[:13], at_most=5) == [second, first]
    for nothing in ("ffff", "%", "_", "\0", "\udcff", "zzz"):
        assert database.traces.beginning_with(nothing, at_most=5) == []


def test_nul_and_lone_surrogates_are_replaced_wherever_they_stand(database: Database) -> None:
    bad = "a\0b\udc80c"
    hits = tuple(replace(hit, section=bad) for hit in _trace().hits)
    database.traces.record(
        _trace(question=bad, prompt=bad, answer=bad, tracks=(bad,), route=bad, hits=hits)
    )
    (kept,) = database.traces.recent(at_most=1)
    texts = {
        kept.question,
        kept.prompt,
        kept.answer,
        *kept.tracks,
        kept.route,
        kept.hits[0].section,
    }
    assert texts == {"a\ufffdb\ufffdc"}


def test_a_database_without_an_encoding_keeps_every_character(server: EmbeddedServer) -> None:
    from ragctl.db.migrate import migrate

    name = sql.Identifier("traces_sql_ascii")
    with connect(server.url("postgres")) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'").format(
                name
            )
        )
    url = server.url("traces_sql_ascii")
    with connect(url) as connection:
        migrate(connection, url)
    problems = (replace(_trace().problems[0], message="Größe → 漢 🚢"),)
    trace = _trace(answer="Größe → 漢 🚢", problems=problems)
    with Database.over(connect(url), url) as database:
        database.traces.record(trace)
        assert database.traces.recent(at_most=1) == [trace]
    with connect(server.url("postgres")) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_a_trace_is_stored_whole_or_not_at_all(database: Database, connection: Connection) -> None:
    connection.execute("ALTER TABLE spans ADD CHECK (name <> 'generate')")
    with pytest.raises(DatabaseError):
        database.traces.record(_trace())
    assert database.traces.recent(at_most=1) == []
    assert database.chunks.count() == 0  # the connection is as good as before


def test_the_log_has_a_line_a_question_with_its_outcome(
    database: Database, connection: Connection
) -> None:
    torn = _trace(1, finish="torn")
    refused, quoted = _trace(2, refused=True), _trace(3, degraded=True)
    for trace in (_trace(), torn, refused, quoted):
        database.traces.record(trace)
    rows = connection.execute(
        "SELECT outcome, question, citations, top_ref, top_score, total_ms, mode FROM answer_log"
    ).fetchall()
    assert [row[0] for row in rows] == ["extractive", "refused", "incomplete", "answered"]
    assert rows[-1][1:] == ("How?", 1, "/a#c1", 0.9, 100.0, "vector")


def test_a_trace_from_before_modes_were_kept_has_none(
    database: Database, connection: Connection
) -> None:
    database.traces.record(_trace())
    connection.execute("UPDATE traces SET mode = NULL, pages = NULL")
    (old,) = database.traces.recent(at_most=1)
    assert (old.mode, old.pages) == (None, ())


def _as_reader(url: str) -> str:
    with connect(url) as connection:
        connection.execute(
            "DO $$ BEGIN CREATE ROLE reader_of_traces LOGIN; "
            "EXCEPTION WHEN duplicate_object THEN NULL; END $$"
        )
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_of_traces")
    separator = "&" if "?" in url else "?"
    return f"{url}{separator}user=reader_of_traces"


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
            database.traces.record(_trace())
        assert database.traces.recent(at_most=1) == []


def test_who_may_insert_alone_can_record(migrated_url: str) -> None:
    url = _as_reader(migrated_url)
    with connect(migrated_url) as connection:
        connection.execute("GRANT INSERT ON traces, spans TO reader_of_traces")
    with Database.over(connect(url), url) as database:
        database.traces.record(_trace())
        assert database.traces.recent(at_most=1) == [_trace()]


def test_a_lock_of_somebody_else_is_not_waited_for(
    database: Database, connection: Connection
) -> None:
    with connection.transaction():
        connection.execute("LOCK TABLE traces IN ACCESS EXCLUSIVE MODE")
        began = time.perf_counter()
        with pytest.raises(DatabaseError):
            database.traces.record(_trace())
        assert time.perf_counter() - began < 1.5


def test_a_lost_connection_is_an_error_like_any_other(
    migrated_url: str, connection: Connection
) -> None:
    database = Database.over(connect(migrated_url), migrated_url)
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with pytest.raises(DatabaseUnreachable):
        database.traces.record(_trace())


def test_recording_takes_no_time_that_anybody_notices(database: Database) -> None:
    prompt, times = "A passage of the page. " * 400, []
    for number in range(60):
        began = time.perf_counter()
        database.traces.record(_trace(number, prompt=prompt))
        times.append((time.perf_counter() - began) * 1000)
    assert sorted(times)[len(times) // 2] < 10  # about 1 where the machine is idle


def _vector(numbers: random.Random) -> array[float]:
    return array("f", [numbers.gauss(0, 1) for _ in range(768)])


def _store(database: Database, url: str, track: str, vectors: list[array[float]]) -> None:
    page = Page(
        url=url, track=track, title=url, source_path=url, sha256="", text="x" * 999,
        front_matter={}, is_landing=False, is_draft=False, order=(1.0, ""), headings=(),
        source_lines=(1,),
    )  # fmt: skip
    passages = [
        EmbeddedChunk(
            chunk=Chunk(
                url=url, track=track, position=n, ref=f"{url}#c{n}", section=None, anchor=None,
                breadcrumb="", start_char=n, end_char=n + 1, body=f"Body {n}.",
            ),
            vector=vector, content_hash="",
        )
        for n, vector in enumerate(vectors)
    ]  # fmt: skip
    database.chunks.replace(database.pages.store(page, parsed_with="1", refused=0), passages)


@pytest.mark.parametrize(
    "index", ["", "CREATE INDEX ON chunks USING hnsw (embedding vector_cosine_ops)"]
)
def test_the_rank_of_a_passage_is_its_place_in_the_whole_list(
    index: str, database: Database, connection: Connection
) -> None:
    numbers = random.Random(7)
    twins = [_vector(numbers)] * 3  # equal distances: the lower id comes first
    for page in range(6):
        vectors = [_vector(numbers) for _ in range(20)] + twins
        _store(database, f"/t{page % 2}/{page}", f"t{page % 2}", vectors)
    if index:
        connection.execute(index.encode())
        connection.execute("ANALYZE chunks")
    for tracks in ((), ("t0",)):
        query = Query(text="", vector=_vector(numbers), tracks=tracks, k=5)
        everything = database.chunks.retrieve(replace(query, k=1000))
        for hit in everything[::17] + everything[-3:]:
            rank = database.chunks.rank(query, [hit.chunk_id])
            assert (rank.chunk_id, rank.rank, rank.among) == (hit.chunk_id, hit.n, len(everything))
            assert rank.score == pytest.approx(hit.score)
            assert rank.score_at_k == pytest.approx(everything[4].score)
        group = [everything[n].chunk_id for n in (40, 12, 60)]
        assert database.chunks.rank(query, group).rank == 13
    elsewhere = database.chunks.retrieve(Query(text="", vector=twins[0], tracks=("t1",), k=1))
    nothing = database.chunks.rank(query, [elsewhere[0].chunk_id])
    assert (nothing.chunk_id, nothing.rank, nothing.among) == (None, None, 69)


def test_with_fewer_passages_than_k_there_is_no_score_at_k(database: Database) -> None:
    numbers = random.Random(1)
    _store(database, "/a", "a", [_vector(numbers)])
    (hit,) = database.chunks.retrieve(Query(text="", vector=_vector(numbers), k=5))
    rank = database.chunks.rank(Query(text="", vector=_vector(numbers), k=5), [hit.chunk_id])
    assert (rank.rank, rank.among, rank.score_at_k) == (1, 1, None)


def test_what_servers_count_corrects_our_own_count(database: Database) -> None:
    assert database.traces.token_ratio() == 1.0
    database.traces.record(_trace(1, prompt_tokens=500, prompt_counted=1000))  # a cached prefix
    assert database.traces.token_ratio() == 1.0
    database.traces.record(_trace(2, prompt_tokens=1300, prompt_counted=1000))
    assert database.traces.token_ratio() == pytest.approx(1.3)


def _aged(number: int, *, days: float, **changes: object) -> Trace:
    asked = replace(ASKED, at=datetime.now(UTC) - timedelta(days=days))
    new_id = trace_id(asked.at, number.to_bytes(10, "big"))
    made = trace_of(new_id, asked, answered(), SPANS)
    return replace(made, **changes)  # type: ignore[arg-type]


def _kept(connection: Connection) -> list[tuple[object, ...]]:
    return connection.execute(
        "SELECT round(extract(day FROM now() - asked_at)), question IS NOT NULL FROM traces "
        "ORDER BY asked_at"
    ).fetchall()


def test_traces_and_texts_go_when_their_days_are_over(
    database: Database, connection: Connection
) -> None:
    for number, days in enumerate((100.5, 91.5, 80.5, 31.5, 29.5, 0)):
        database.traces.record(_aged(number, days=days))
    database.traces.keep_up(keep_days=90, keep_text_days=30)
    assert _kept(connection) == [(80, False), (31, False), (29, True), (0, True)]
    emptied = database.traces.recent(at_most=4)[-1]
    assert emptied == replace(without_texts(emptied), timings=emptied.timings)
    assert [problem.code for problem in emptied.problems] == ["no_citation"]
    assert emptied.hits == _trace().hits
    orphans = "SELECT count(*) FROM spans WHERE trace_id NOT IN (SELECT id FROM traces)"
    assert connection.execute(orphans).fetchone() == (0,)


def test_zero_days_keep_for_ever(database: Database, connection: Connection) -> None:
    database.traces.record(_aged(1, days=4000.5))
    database.traces.keep_up(keep_days=0, keep_text_days=0)
    assert _kept(connection)[0][1] is True


def test_upkeep_takes_a_few_at_a_time_and_rests_for_an_hour_once_none_is_left(
    database: Database, connection: Connection
) -> None:
    for number in range(UPKEEP_BATCH + 3):
        database.traces.record(_aged(number, days=100))
    counts = []
    for _ in range(3):
        database.traces.keep_up(keep_days=90, keep_text_days=30)
        counts.append(len(_kept(connection)))
    assert counts == [3, 0, 0]
    database.traces.record(_aged(99, days=100))
    database.traces.keep_up(keep_days=90, keep_text_days=30)
    assert len(_kept(connection)) == 1  # rests
    connection.execute("UPDATE trace_upkeep SET rests_until = rests_until - interval '1 hour'")
    database.traces.keep_up(keep_days=90, keep_text_days=30)
    assert _kept(connection) == []


def test_two_who_keep_up_at_once_do_not_wait_for_each_other(
    database: Database, connection: Connection
) -> None:
    database.traces.record(_aged(1, days=100))
    with connection.transaction():
        connection.execute("SELECT FROM trace_upkeep FOR UPDATE")
        database.traces.keep_up(keep_days=90, keep_text_days=30)
        assert len(_kept(connection)) == 1


def test_all_before_a_moment_can_be_emptied_and_removed(
    database: Database, connection: Connection
) -> None:
    for number, days in enumerate((9, 8, 2)):
        database.traces.record(_aged(number, days=days))
    moment = datetime.now(UTC) - timedelta(days=5)
    assert database.traces.count_before(moment) == (2, 2)
    assert database.traces.empty_before(moment) == 2
    assert database.traces.count_before(moment) == (2, 0)
    with_errors = "SELECT count(*) FROM spans WHERE attributes ? 'error'"
    assert connection.execute(with_errors).fetchone() == (1,)  # of the one that is newer
    assert database.traces.remove_before(moment) == 2
    assert [row[1] for row in _kept(connection)] == [True]


def test_traces_are_found_by_kind_and_by_when(database: Database) -> None:
    plain: dict[str, object] = {"problems": ()}
    slow = replace(_trace().timings, total=20_000.0)
    made = {
        "plain": _aged(1, days=0.1, **plain),
        "old": _aged(2, days=9, **plain),
        "slow": _aged(3, days=0.1, timings=slow, **plain),
        "flagged": _aged(4, days=0.1),
        "refused": _aged(5, days=0.1, refused=True, **plain),
        "torn": _aged(6, days=0.1, finish="torn", **plain),
        "failed": _aged(7, days=0.1, finish="failed", error_code="model", **plain),
    }
    for trace in made.values():
        database.traces.record(trace)
    names = {trace.id: name for name, trace in made.items()}

    def found(**wanted: Any) -> set[str]:
        matching = database.traces.matching(TraceFilter(**wanted), at_most=50)
        return {names[trace.id] for trace in matching}

    assert found() == set(made)
    assert found(since=datetime.now(UTC) - timedelta(days=1)) == set(made) - {"old"}
    assert found(slow_ms=10_000.0) == {"slow"}
    assert found(flagged=True) == {"flagged"}
    assert found(refused=True) == {"refused"}
    assert found(failed=True) == {"torn", "failed"}
    assert found(failed=True, slow_ms=10_000.0) == {"torn", "failed", "slow"}


def test_each_trace_is_handed_out_once_over_many_batches(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragctl.db.traces.EXPORT_BATCH", 2)
    for number in range(5):
        database.traces.record(_trace(number))
    ids = [trace.id for trace in database.traces.each(TraceFilter())]
    assert ids == [_trace(number).id for number in (4, 3, 2, 1, 0)]


def test_who_may_insert_alone_can_record_and_removes_nothing(migrated_url: str) -> None:
    url = _as_reader(migrated_url)
    with connect(migrated_url) as connection:
        connection.execute("GRANT INSERT ON traces, spans TO reader_of_traces")
    with Database.over(connect(url), url) as database:
        with pytest.raises(DatabaseUnsuitable):
            database.traces.keep_up(keep_days=1, keep_text_days=1)
        database.traces.record(_trace())
        assert len(database.traces.recent(at_most=2)) == 1
