"""Restoring a dump in the place of what is there."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from ragctl.db.backup import dump, restore
from ragctl.db.connect import connect
from ragctl.db.migrate import migrate, pending
from ragctl.db.server import EmbeddedServer
from ragctl.db.statements import migrations
from ragctl.errors import DatabaseError, RagctlError, SchemaMismatch

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
        with pytest.raises(DatabaseError, match=r"refused a statement|not a table"):
            restore(server, connection, migrated_url, earlier_dump, replace=True)
        assert connection.execute("SELECT content_root FROM site").fetchall() == [("/mine",)]
        with pytest.raises(psycopg.errors.UndefinedColumn):
            connection.execute("SELECT no_such_column FROM feedback")


COMMENT = "x" * 60
HOSTILE = (
    b"\n\\! touch MARK\n",
    b"COPY (SELECT 1) TO PROGRAM 'touch MARK';\n",
    b"CREATE TABLE planted AS SELECT 1;\n",
)
"""What a hostile dump would have run: a command of psql, of the server, a statement."""


@pytest.fixture
def made(server: EmbeddedServer, empty_url: str, tmp_path: Path) -> Path:
    """A dump with a row, a comment to be overwritten, and things that are not ragctl's."""
    file = tmp_path / "made.dump"
    with connect(empty_url) as connection:
        migrate(connection, empty_url)
        connection.execute(f"COMMENT ON TABLE site IS '{COMMENT}'".encode())
        connection.execute("INSERT INTO site (content_root) VALUES (E'/a\\tb\\\\.\\n\\\\! x')")
        connection.execute("CREATE TABLE planted (number int)")
        connection.execute(
            "CREATE FUNCTION strike() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN DELETE FROM pages; RETURN NEW; END'"
        )
        connection.execute(
            "CREATE TRIGGER strikes BEFORE INSERT ON site FOR EACH ROW EXECUTE FUNCTION strike()"
        )
    dump(server, empty_url, file)
    assert file.stat().st_mode & 0o777 == 0o600
    return file


def test_a_dump_brings_rows_and_no_code(
    server: EmbeddedServer, migrated_url: str, made: Path
) -> None:
    with connect(migrated_url) as connection:
        left_out = restore(server, connection, migrated_url, made, replace=True)
        assert left_out == {"function": 1, "table": 1, "trigger": 1}
        rows = connection.execute("SELECT content_root FROM site").fetchall()
        assert rows == [("/a\tb\\.\n\\! x",)]
        count = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"
        assert connection.execute(count).fetchone() == (0,)
        assert not pending(connection, migrated_url)


@pytest.mark.parametrize("attack", HOSTILE)
def test_nothing_that_stands_in_a_dump_is_run(
    attack: bytes, server: EmbeddedServer, migrated_url: str, made: Path, tmp_path: Path
) -> None:
    mark = Path("/tmp") / f"ragctl-{tmp_path.name[-20:]}"[:18]
    old = f"COMMENT ON TABLE public.site IS '{COMMENT}';\n".encode()
    new = attack.replace(b"MARK", str(mark).encode())
    new += b"--" + b" " * (len(old) - len(new) - 3) + b"\n"
    data = made.read_bytes()
    assert data.count(old) == 1 and len(old) == len(new)
    made.write_bytes(data.replace(old, new))
    with connect(migrated_url) as connection:
        restore(server, connection, migrated_url, made, replace=True)
        planted = connection.execute("SELECT to_regclass('planted')").fetchone()
    assert planted == (None,)
    assert not mark.exists()


@pytest.mark.parametrize(
    "attack",
    [b"COPY site FROM PROGRAM 'id > /tmp/x';--", b"COPY public.feedback (x) FROM stdin;\n"],
)
def test_rows_in_another_form_than_pg_dumps_change_nothing(
    attack: bytes, server: EmbeddedServer, migrated_url: str, made: Path
) -> None:
    data = made.read_bytes()
    found = re.search(rb"COPY public\.site \([^)]*\) FROM stdin;\n", data)
    assert found
    old, at = found[0], found.start()
    made.write_bytes(data[:at] + attack[: len(old)].ljust(len(old)) + data[at + len(old) :])
    with connect(migrated_url) as connection:
        connection.execute("INSERT INTO site (content_root) VALUES ('/mine')")
        with pytest.raises(RagctlError, match=r"site|feedback"):
            restore(server, connection, migrated_url, made, replace=True)
        assert connection.execute("SELECT content_root FROM site").fetchall() == [("/mine",)]


def test_a_dump_of_a_newer_ragctl_is_refused(
    server: EmbeddedServer, empty_url: str, migrated_url: str, tmp_path: Path
) -> None:
    with connect(migrated_url) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (999, '0999_later', 'x')")
    file = tmp_path / "newer.dump"
    dump(server, migrated_url, file)
    with connect(empty_url) as connection, pytest.raises(SchemaMismatch, match="999"):
        restore(server, connection, empty_url, file, replace=False)
