"""Many small pages: batches hold several of them, and each is still whole and by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragctl.db.connect import connect
from tests.ollama_server import OllamaServer, Reply
from tests.program import Program
from tests.soak.site import page, write_many

PAGES = 300


def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


@pytest.fixture
def many(tmp_path: Path, ragctl: Program) -> Path:
    """A content folder of many pages in twenty tracks, ingested."""
    root = tmp_path / "many"
    write_many(root, PAGES, tracks=20)
    assert ragctl("ingest", str(root)).code == 0
    return root


def test_every_page_is_stored_with_its_passages_in_one_transaction(
    many: Path, empty_url: str
) -> None:
    assert _rows(empty_url, "SELECT count(*) FROM pages") == [(PAGES,)]
    of_a_page = (
        "SELECT DISTINCT count(*), min(position), max(position), count(DISTINCT xmin::text) "
        "FROM chunks GROUP BY page_id"
    )
    assert _rows(empty_url, of_a_page) == [(2, 0, 1, 1)]
    elsewhere = "SELECT FROM chunks c JOIN pages p ON p.id = c.page_id WHERE p.url <> c.url"
    assert _rows(empty_url, elsewhere) == []
    numbers = _rows(empty_url, "SELECT position FROM pages WHERE track = 'track07' ORDER BY url")
    assert numbers == [(number,) for number in range(1, PAGES // 20 + 1)]


def test_a_second_ingest_touches_only_the_page_that_changed(
    many: Path, ragctl: Program, ollama: OllamaServer, empty_url: str
) -> None:
    before = dict(_rows(empty_url, "SELECT ref, id FROM chunks"))
    ollama.requests.clear()
    again = ragctl("ingest", str(many), "--json").document
    assert sum(track["unchanged"] for track in again["tracks"]) == PAGES
    assert ollama.requests_to("/api/embed") == []
    (many / "track07/00007-page.md").write_text(page(1000))
    assert ragctl("ingest", str(many)).code == 0
    assert [len(request.inputs) for request in ollama.requests_to("/api/embed")] == [2]
    after = dict(_rows(empty_url, "SELECT ref, id FROM chunks"))
    changed = {ref for ref, number in after.items() if before.get(ref) != number}
    assert {ref.partition("#")[0] for ref in changed} == {"/track07/00007-page"}


def test_a_rebuild_ends_with_the_rows_it_began_with(
    many: Path, ragctl: Program, ollama: OllamaServer, empty_url: str
) -> None:
    content = "SELECT to_jsonb(c) - '{id,page_id}'::text[] FROM chunks c ORDER BY ref"
    before = _rows(empty_url, content)
    ollama.on("/api/embed", Reply(status=500))  # every vector is known
    assert ragctl("ingest", str(many), "--rebuild").code == 0
    assert _rows(empty_url, content) == before


def test_a_full_disk_is_explained_and_the_next_ingest_completes(
    tmp_path: Path, ragctl: Program, empty_url: str
) -> None:
    root = tmp_path / "many"
    write_many(root, 60, tracks=3)
    assert ragctl("ingest", str(root), "--track", "track00").code == 0
    with connect(empty_url) as connection:
        _fill_the_disk_at(connection, "/track01/00040-page")
        full = ragctl("ingest", str(root))
        assert full.code == 4
        assert "is full" in full.err
        assert "Free some space" in full.err
        assert "did not finish" in ragctl("ask", "How?").err
        connection.execute("DROP TRIGGER full_disk ON chunks")
    assert ragctl("ingest", str(root)).code == 0
    of_a_page = "SELECT DISTINCT count(*) FROM chunks GROUP BY page_id"
    assert _rows(empty_url, "SELECT count(*) FROM pages") == [(60,)]
    assert _rows(empty_url, of_a_page) == [(2,)]


def _fill_the_disk_at(connection: psycopg.Connection[tuple[Any, ...]], url: str) -> None:
    """Have the server refuse a passage as it does when its disk is full."""
    connection.execute(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'could not extend file: No space left on device' "
        "USING ERRCODE = 'disk_full'; END $$"
    )
    connection.execute(
        "CREATE TRIGGER full_disk BEFORE INSERT ON chunks FOR EACH ROW "
        f"WHEN (NEW.url = '{url}') EXECUTE FUNCTION full_disk()".encode()
    )
