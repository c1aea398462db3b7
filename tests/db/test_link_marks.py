"""Which links land: read as the links that can be printed, noted, and seen by the search."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest
from psycopg import Connection

from ragctl.db.database import Database
from ragctl.records.chunks import EmbeddedChunk
from ragctl.records.links import StoredLink
from ragctl.records.search import Query
from tests.db.test_nearest import _chunk, _page, _vector

SECTIONS = (None, "locks", "locks", "gates", "")
QUERY = Query(text="", vector=array("f", [1.0] * 768), k=50)


@pytest.fixture
def filled(database: Database) -> Database:
    """Two pages of five passages each, in sections with and without an anchor."""
    for number in (0, 1):
        page = _page(number)
        passages = [
            EmbeddedChunk(
                chunk=replace(
                    _chunk(page, position), anchor=anchor, section=anchor and anchor.title()
                ),
                vector=_vector(position),
                content_hash="",
            )
            for position, anchor in enumerate(SECTIONS)
        ]
        database.chunks.replace(database.pages.store(page, parsed_with="1", refused=0), passages)
    return database


def _marks(connection: Connection[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return connection.execute(
        "SELECT url, anchor, anchor_lands FROM chunks ORDER BY url, position"
    ).fetchall()


def test_links_are_each_page_and_each_of_its_anchors_once(filled: Database) -> None:
    links = filled.pages.links()
    assert [(link.url, link.anchor, link.section) for link in links if link.url == "/t1/p1"] == [
        ("/t1/p1", None, None),
        ("/t1/p1", "gates", "Gates"),
        ("/t1/p1", "locks", "Locks"),
    ]
    assert links[0] == StoredLink(url="/t0/p0", source_path="p0.md", anchor=None, section=None)
    assert len(links) == 6


def test_anchors_are_null_until_checked_then_land_or_not(
    filled: Database, connection: Connection[tuple[object, ...]]
) -> None:
    assert {row[2] for row in _marks(connection)} == {None}
    filled.pages.mark_links(dead=["/t1/p1"])
    filled.chunks.mark_links(dead=[("/t1/p1", "locks")])
    assert connection.execute("SELECT url, link_lands FROM pages ORDER BY url").fetchall() == [
        ("/t0/p0", True),
        ("/t1/p1", False),
    ]
    lands = {(row[0], row[1]): row[2] for row in _marks(connection)}
    assert lands == {
        ("/t0/p0", None): None,
        ("/t0/p0", ""): None,
        ("/t0/p0", "locks"): True,
        ("/t0/p0", "gates"): True,
        ("/t1/p1", None): None,
        ("/t1/p1", ""): None,
        ("/t1/p1", "locks"): False,
        ("/t1/p1", "gates"): True,
    }


def test_a_dead_anchor_is_not_handed_out_by_the_search(filled: Database) -> None:
    filled.chunks.mark_links(dead=[("/t1/p1", "locks")])
    anchors = {(hit.url, hit.section, hit.anchor) for hit in filled.chunks.retrieve(QUERY)}
    assert ("/t1/p1", "Locks", None) in anchors
    assert ("/t0/p0", "Locks", "locks") in anchors
    assert ("/t1/p1", "Gates", "gates") in anchors


def test_a_second_check_replaces_the_first_and_touches_only_what_changed(
    filled: Database, connection: Connection[tuple[object, ...]]
) -> None:
    filled.chunks.mark_links(dead=[("/t1/p1", "locks")])
    query = "SELECT id, ctid::text FROM chunks"
    places = {row[0]: row[1] for row in connection.execute(query).fetchall()}
    filled.chunks.mark_links(dead=[("/t0/p0", "gates")])
    moved = [
        (url, anchor)
        for number, place, url, anchor in connection.execute(
            "SELECT id, ctid::text, url, anchor FROM chunks ORDER BY url, position"
        ).fetchall()
        if places[number] != place
    ]
    assert moved == [("/t0/p0", "gates"), ("/t1/p1", "locks"), ("/t1/p1", "locks")]
    filled.chunks.mark_links(dead=[])
    assert {row[2] for row in _marks(connection) if row[1]} == {True}


def test_marks_are_cleared_where_nothing_is_checked_any_more(
    filled: Database, connection: Connection[tuple[object, ...]]
) -> None:
    filled.pages.mark_links(dead=[])
    filled.chunks.mark_links(dead=[])
    filled.pages.mark_links(dead=None)
    filled.chunks.mark_links(dead=None)
    assert {row[2] for row in _marks(connection)} == {None}
    assert connection.execute("SELECT DISTINCT link_lands FROM pages").fetchall() == [(None,)]
