"""Tables of every earlier version of ours, and of a later one."""

from __future__ import annotations

import pytest

from ragctl.db.connect import connect
from ragctl.db.migrate import migrate
from ragctl.db.statements import migrations
from tests.foreign.conftest import Field

PAGE = """
INSERT INTO pages (url, track, title, sort_number, sort_name, source_path, sha256, parsed_with,
                   text, source_lines, front_matter, is_landing, is_draft, words, size_bytes,
                   mtime_ns)
VALUES ('/design/old', 'design', 'Old', 1, 'old', 'design/old.md', '', '', 'An old text.', '{1}',
        '{}', false, false, 3, 12, 0)
"""
PASSAGE = """
INSERT INTO chunks (track, url, section, body, embedding, page_id, position, ref, breadcrumb,
                    start_char, end_char, content_hash)
SELECT 'design', '/design/old', NULL, 'An old text.', array_fill(0.1, ARRAY[768])::vector, id, 0,
       '/design/old#c0', 'Old', 0, 12, '' FROM pages
"""


@pytest.mark.parametrize("level", range(1, len(migrations()), 5))
def test_older_tables_are_told_of_and_brought_up_with_what_they_hold(
    level: int, plain: Field
) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, "CREATE EXTENSION vector")
        url = server.url(role, role)
        with connect(url) as connection:
            migrate(connection, url, known=migrations()[:level])
            connection.execute(PAGE)
            connection.execute(PASSAGE)
        for command in (["ask", "What is old?"], ["sources"]):
            done = plain.ragctl(url, *command)
            assert done.code == 4
            assert "older than this ragctl" in done.err
            assert "ragctl db migrate" in done.err
        assert plain.ragctl(url, "db", "migrate").code == 0
        assert "/design/old" in plain.ragctl(url, "sources").out
        with connect(url) as connection:
            found = "SELECT body FROM chunks WHERE search @@ to_tsquery('english', 'text')"
            assert connection.execute(found).fetchall() == [("An old text.",)]
        assert plain.ingest(url, "--keep-missing").code == 0
        assert "It refills lazily [1]." in plain.ask(url).out


def test_tables_of_a_later_version_are_refused_by_every_command(plain: Field) -> None:
    server = plain.server
    with server.database(owner="itself") as role:
        server.do(role, "CREATE EXTENSION vector")
        url = server.url(role, role)
        assert plain.ingest(url).code == 0
        later = "INSERT INTO schema_migrations VALUES (9999, '9999_later', 'x', now())"
        server.do(role, later)
        for command in (
            *(["ask", "Who?"], ["ingest", str(plain.site)], ["sources"], ["db", "migrate"]),
            *(["search", "x"], ["stats"], ["trace", "list"], ["cache", "status"]),
        ):
            done = plain.ragctl(url, *command)
            assert done.code == 4, command
            assert "9999_later, newer than this ragctl knows" in done.err
        status = plain.ragctl(url, "db", "status", "--json")
        assert "newer than this ragctl" in status.document["problem"]
