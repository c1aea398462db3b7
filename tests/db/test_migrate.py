"""Migrations: forward only, recorded, refused when edited."""

from __future__ import annotations

import threading

import psycopg
import pytest

from ragctl.db.connect import connect
from ragctl.db.database import Database
from ragctl.db.migrate import migrate, pending, set_foreign_table_aside
from ragctl.db.server import EmbeddedServer
from ragctl.db.statements import Migration, migrations
from ragctl.errors import ContentError, DatabaseError, SchemaMismatch
from tests.db.snapshot import SNAPSHOT, schema_lines, unqualified


def _step(version: int, sql: str, checksum: str = "0") -> Migration:
    return Migration(
        version=version, name=f"{version:04}_step", sql=sql.encode(), checksum=checksum
    )


def test_an_empty_database_gets_every_migration_once(empty_url: str) -> None:
    with connect(empty_url) as connection:
        first = migrate(connection, empty_url)
        second = migrate(connection, empty_url)
    assert [migration.name for migration in first] == [step.name for step in migrations()]
    assert second == ()


def test_a_migrated_database_is_what_the_kept_snapshot_says(
    migrated_url: str, server: EmbeddedServer
) -> None:
    kept = SNAPSHOT.read_text(encoding="utf-8").splitlines()
    made = unqualified(schema_lines(server, migrated_url))
    assert made == unqualified(kept), "./scripts/reference writes it anew"


def test_a_failing_migration_leaves_neither_tables_nor_a_record(empty_url: str) -> None:
    steps = (_step(1, "CREATE TABLE one (a int)"), _step(2, "CREATE TABLE two (a int); SELECT 1/0"))
    with connect(empty_url) as connection:
        with pytest.raises(DatabaseError):
            migrate(connection, empty_url, known=steps)
        assert [step.version for step in pending(connection, empty_url, known=steps)] == [2]
        tables = connection.execute(
            "SELECT to_regclass('one') IS NOT NULL, to_regclass('two') IS NOT NULL"
        ).fetchone()
    assert tables == (True, False)


def test_an_edited_migration_is_refused_by_name(empty_url: str) -> None:
    with connect(empty_url) as connection:
        with pytest.raises(DatabaseError):  # the last step tries pgvector, which is not there
            migrate(connection, empty_url, known=(_step(1, "SELECT 1", "a"),))
        with pytest.raises(SchemaMismatch, match="0001_step was edited"):
            pending(connection, empty_url, known=(_step(1, "SELECT 2", "b"),))


def test_a_newer_schema_is_refused(migrated_url: str) -> None:
    with connect(migrated_url) as connection:
        connection.execute(
            "INSERT INTO schema_migrations (version, name, checksum) VALUES (9999, '9999_x', '')"
        )
        with pytest.raises(SchemaMismatch, match="newer than this ragctl"):
            pending(connection, migrated_url)
        with pytest.raises(SchemaMismatch):
            migrate(connection, migrated_url)


def test_a_table_chunks_that_is_not_ours_is_refused_and_kept(empty_url: str) -> None:
    with connect(empty_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE chunks (id int, embedding vector(384))")
        connection.execute("INSERT INTO chunks (id) VALUES (7)")
        with pytest.raises(SchemaMismatch, match=r"chunks.*vector\(384\).*vector\(768\)"):
            migrate(connection, empty_url)
        assert connection.execute("SELECT id FROM chunks").fetchall() == [(7,)]


def test_four_processes_migrate_at_once(empty_url: str) -> None:
    applied: list[int] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            with connect(empty_url) as connection:
                applied.append(len(migrate(connection, empty_url)))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sum(applied) == len(migrations())


def test_reading_never_migrates(empty_url: str) -> None:
    with connect(empty_url) as connection:
        with pytest.raises(ContentError, match="nothing has been ingested"):
            Database.over(connection, empty_url)
        found = connection.execute("SELECT to_regclass('schema_migrations')").fetchone()
    assert found == (None,)


def test_the_owner_s_columns_stand_first_and_vectors_lie_in_line(
    connection: psycopg.Connection[tuple[object, ...]],
) -> None:
    rows = connection.execute(
        "SELECT attname::text, format_type(atttypid, atttypmod), attnotnull, attstorage::text "
        "FROM pg_attribute WHERE attrelid = 'chunks'::regclass AND attnum > 0 ORDER BY attnum"
    ).fetchall()
    assert rows[:6] == [
        ("id", "integer", True, "p"),
        ("track", "text", True, "x"),
        ("url", "text", True, "x"),
        ("section", "text", False, "x"),
        ("body", "text", True, "x"),
        ("embedding", "vector(768)", True, "p"),
    ]


def test_a_foreign_table_is_set_aside_whole_when_told_to(empty_url: str) -> None:
    with connect(empty_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE chunks (id serial PRIMARY KEY, embedding vector(384))")
        connection.execute("INSERT INTO chunks (id) VALUES (7)")
        set_foreign_table_aside(connection, empty_url)
        migrate(connection, empty_url)
        set_foreign_table_aside(connection, empty_url)  # ours stays
        assert connection.execute("SELECT id FROM before_ragctl.chunks").fetchall() == [(7,)]
        assert connection.execute("SELECT id FROM chunks").fetchall() == []
