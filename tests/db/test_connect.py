"""Connections to databases whose owners have set things their own way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest

from ragctl.db.connect import connect, translated
from ragctl.errors import DatabaseError, DatabaseUnreachable, DatabaseUnsuitable


def _set(url: str, setting: str) -> None:
    name = url.partition("?")[0].rpartition("/")[2]
    with connect(url) as connection:
        connection.execute(f"ALTER DATABASE {name} {setting}".encode())


@pytest.mark.parametrize(
    "setting", ["SET datestyle = 'SQL, DMY'", "SET standard_conforming_strings = off"]
)
def test_what_our_statements_rely_on_is_set_where_a_database_sets_it_otherwise(
    setting: str, empty_url: str
) -> None:
    _set(empty_url, setting)
    with connect(empty_url) as connection:
        row = connection.execute(rb"SELECT now(), '\'").fetchone()
    assert row is not None
    assert isinstance(row[0], datetime)
    assert row[1] == "\\"


@pytest.mark.parametrize(
    ("setting", "kind", "said", "hint"),
    [
        ("default_transaction_read_only = on", DatabaseUnsuitable, "is read-only", "primary"),
        ("statement_timeout = '1ms'", DatabaseError, "stopped a statement", "statement_timeout"),
    ],
)
def test_a_refusal_of_the_owner_s_making_names_the_setting(
    setting: str, kind: type[DatabaseError], said: str, hint: str, empty_url: str
) -> None:
    _set(empty_url, f"SET {setting}")
    with (
        pytest.raises(kind, match=said) as caught,
        connect(empty_url) as connection,
        translated(empty_url),
    ):
        connection.execute("SELECT pg_sleep(0.1)")
        connection.execute("CREATE TABLE t (i int)")
    assert hint in caught.value.hint


@pytest.fixture
def limited_role(empty_url: str) -> Iterator[str]:
    """The address of a role that may hold no connection."""
    with connect(empty_url) as connection:
        connection.execute("CREATE ROLE test_limited LOGIN CONNECTION LIMIT 0")
    yield empty_url.replace("postgres@", "test_limited@", 1)
    with connect(empty_url) as connection:
        connection.execute("DROP ROLE test_limited")


def test_a_server_that_has_no_connection_left_is_not_told_as_absent(limited_role: str) -> None:
    with pytest.raises(DatabaseUnreachable, match="turns connections away") as caught:
        connect(limited_role)
    assert "max_connections" in caught.value.hint
