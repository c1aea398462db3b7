"""Every SQL file is understood by the migrated database, and is one statement with a comment."""

from __future__ import annotations

import re

import psycopg
import pytest

from ragctl.db.statements import migrations, statement, statement_names

Connection = psycopg.Connection[tuple[object, ...]]
UTILITY = (
    *("chunks/copy", "schema/create_extension", "schema/make_aside", "schema/move_aside"),
    *("vector_index/create_hnsw", "vector_index/drop_hnsw"),
    *("schema/drop_view", "schema/drop_table", "schema/empty_table", "schema/copy_rows"),
)


def _numbered(sql: str) -> str:
    names: dict[str, int] = {}

    def place(match: re.Match[str]) -> str:
        return f"${names.setdefault(match[1], len(names) + 1)}"

    return re.sub(r"%\((\w+)\)[sb]", place, sql).replace("%%", "%")


@pytest.mark.parametrize("name", [name for name in statement_names() if name not in UTILITY])
def test_a_statement_can_be_prepared(name: str, connection: Connection) -> None:
    sql = _numbered(statement(name).decode())
    if "CREATE TABLE" in sql:
        connection.execute(sql.encode())
        return
    connection.execute(f"PREPARE tried AS {sql}".encode())


@pytest.mark.parametrize("name", statement_names())
def test_a_statement_file_is_one_statement_that_says_what_it_returns(name: str) -> None:
    sql = statement(name).decode()
    assert sql.startswith("-- ")
    code = re.sub(r"--[^\n]*|'[^']*'", "", sql)
    assert code.count(";") == 1
    assert code.rstrip().endswith(";")


def test_every_statement_is_used() -> None:
    from pathlib import Path

    import ragctl

    code = "".join(path.read_text() for path in Path(ragctl.__file__).parent.rglob("*.py"))
    unused = [name for name in statement_names() if f'"{name}"' not in code]
    assert unused == []


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [migration.version for migration in migrations()] == list(
        range(1, len(migrations()) + 1)
    )
