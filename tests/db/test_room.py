"""The room of tables: how much is spare, and giving it back without losing a row."""

from __future__ import annotations

import psycopg
import pytest

from ragctl.cli.compact import worth_rewriting
from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.room import Room, TableRoom
from ragctl.errors import DatabaseError, DatabaseUnsuitable

Connection = psycopg.Connection[tuple[object, ...]]
FILL = """
INSERT INTO pages (url, track, title, sort_number, sort_name, source_path, sha256, parsed_with,
                   text, source_lines, front_matter, is_landing, is_draft, words, size_bytes,
                   mtime_ns)
VALUES ('/a/1', 'a', 'One', 0, '', 'a/1.md', '', '', '', '{}', '{}', false, false, 0, 0, 0);
INSERT INTO chunks (track, url, body, embedding, page_id, position, ref, breadcrumb, start_char,
                    end_char, content_hash)
SELECT CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, '/a/1',
       (SELECT string_agg(md5((n * i)::text), ' ') FROM generate_series(1, 40) AS i),
       array_fill(n::real + 1, '{768}')::vector, (SELECT id FROM pages), n, '/a/1#c' || n, '',
       n, n + 1, ''
FROM generate_series(1, 600) AS n;
"""
CONTENT = "SELECT md5(string_agg(c::text, '' ORDER BY id)), count(*)::int FROM chunks AS c"


@pytest.fixture
def replaced(connection: Connection) -> Connection:
    """A connection to a database whose every passage was replaced twice."""
    connection.execute(FILL.encode())
    for _ in range(2):
        connection.execute("UPDATE chunks SET end_char = end_char + 1")
    connection.execute("ANALYZE chunks")
    return connection


def _chunks(room: Room) -> TableRoom:
    return next(table for table in room.tables() if table.name == "chunks")


def _rewritten(connection: Connection, table: TableRoom) -> TableRoom:
    room = Room(connection)
    with connection.transaction():
        room.rewrite(table)
    room.tidy(table)
    return _chunks(room)


def test_what_replaced_rows_left_is_seen_and_given_back(replaced: Connection) -> None:
    content = replaced.execute(CONTENT.encode()).fetchone()
    before = _chunks(Room(replaced))
    assert before.rows == 600
    assert before.bloat == pytest.approx(3, rel=0.05)
    after = _rewritten(replaced, before)
    assert after.bloat == pytest.approx(1, abs=0.03)
    assert before.spare_bytes == before.heap_bytes - after.heap_bytes
    assert before.total_bytes - after.total_bytes >= before.spare_bytes * 0.9  # new maps are larger
    assert replaced.execute(CONTENT.encode()).fetchone() == content
    tracks = [row[0] for row in replaced.execute("SELECT track FROM chunks ORDER BY ctid")]
    assert tracks == sorted(str(track) for track in tracks)
    clustered = replaced.execute("SELECT count(*) FROM pg_index WHERE indisclustered").fetchone()
    assert clustered == (0,)
    visible = "SELECT relallvisible = relpages FROM pg_class WHERE oid = 'chunks'::regclass"
    assert replaced.execute(visible.encode()).fetchone() == (True,)


def test_a_table_that_was_never_counted_is_not_said_to_have_grown(connection: Connection) -> None:
    connection.execute("ALTER TABLE chunks SET (autovacuum_enabled = off)")
    connection.execute(FILL.encode())
    table = _chunks(Room(connection))
    assert (table.rows, table.needed_bytes, table.bloat) == (None, None, 1.0)
    assert table.heap_bytes > 600 * 3072


def test_a_rewrite_that_is_stopped_loses_nothing(replaced: Connection) -> None:
    content = replaced.execute(CONTENT.encode()).fetchone()
    room, before = Room(replaced), _chunks(Room(replaced))
    with pytest.raises(psycopg.errors.QueryCanceled), replaced.transaction():
        replaced.execute("SET LOCAL statement_timeout = '1ms'")
        room.rewrite(before)
    assert replaced.execute(CONTENT.encode()).fetchone() == content
    assert _chunks(room).heap_bytes == before.heap_bytes


def test_a_rewrite_does_not_wait_for_ever_behind_others(
    replaced: Connection, migrated_url: str
) -> None:
    room = Room(replaced, wait_seconds=0.05)
    with connect(migrated_url) as other, other.transaction():
        other.execute("SELECT count(*) FROM chunks")
        with (
            pytest.raises(DatabaseError, match="others have used the table chunks"),
            replaced.transaction(),
        ):
            room.rewrite(_chunks(room))


def test_who_does_not_own_the_tables_may_not_rewrite_them(
    database: Database, connection: Connection
) -> None:
    name = "reader_of_rooms"
    connection.execute(f"CREATE ROLE {name}".encode())
    connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}".encode())
    try:
        connection.execute(f"SET ROLE {name}".encode())
        reader = Database.over(connection, database.url)
        with pytest.raises(DatabaseUnsuitable, match="only the owner"):
            worth_rewriting(reader, everything=False, counts=True)
        assert worth_rewriting(reader, everything=False, counts=False) == []
    finally:
        connection.execute("RESET ROLE")
        connection.execute(f"DROP OWNED BY {name}".encode())
        connection.execute(f"DROP ROLE {name}".encode())
