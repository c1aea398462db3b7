"""Restoring a dump in the place of what is there."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from ragctl.db.backup import dump, restore
from ragctl.db.connect import connect
from ragctl.db.migrate import migrate, pending
from ragctl.db.server import EmbeddedServer
from ragctl.db.statements import migrations
from ragctl.errors import DatabaseError

EARLIER = 5


@pytest.fixture
def earlier_dump(server: EmbeddedServer, empty_url: str, tmp_path: Path) -> Path:
    """A dump of a database that was migrated by an earlier ragctl."""
    file = tmp_path / "earlier.dump"
    with connect(empty_url) as connection:
        migrate(connection, empty_url, known=migrations()[:EARLIER])
        connection.execute("INSERT INTO site (content_root) VALUES ('/earlier')")
    dump(server, empty_url, file)
    return file


def test_an_earlier_dump_replaces_later_tables_and_is_migrated_again(
    server: EmbeddedServer, migrated_url: str, earlier_dump: Path
) -> None:
    with connect(migrated_url) as connection:
        connection.execute("CREATE TABLE of_somebody_else (number int)")
        connection.execute("INSERT INTO of_somebody_else VALUES (7)")
        restore(server, connection, migrated_url, earlier_dump, replace=True)
        assert pending(connection, migrated_url)[0].version == EARLIER + 1
        migrate(connection, migrated_url)
        assert not pending(connection, migrated_url)
        rows = connection.execute("SELECT content_root FROM site").fetchall()
        assert rows == [("/earlier",)]
        assert connection.execute("SELECT number FROM of_somebody_else").fetchall() == [(7,)]


def test_a_restore_that_fails_half_way_leaves_everything(
    server: EmbeddedServer, migrated_url: str, earlier_dump: Path
) -> None:
    with connect(migrated_url) as connection:
        connection.execute("INSERT INTO site (content_root) VALUES ('/mine')")
        connection.execute("ALTER TABLE pages RENAME TO pages_kept")
        connection.execute("CREATE SEQUENCE pages")
        with pytest.raises(DatabaseError, match="psql failed"):
            restore(server, connection, migrated_url, earlier_dump, replace=True)
        assert connection.execute("SELECT content_root FROM site").fetchall() == [("/mine",)]
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT no_such_column FROM feedback")
