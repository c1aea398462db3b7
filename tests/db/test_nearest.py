"""The exact search: right, and in the shape that makes it fast."""

from __future__ import annotations

import json
import random
from array import array
from typing import Any

import psycopg
import pytest

from ragctl.db.connect import connect, register_vectors
from ragctl.db.database import Database
from ragctl.db.statements import statement
from ragctl.db.values import to_database
from ragctl.records.chunks import Chunk, EmbeddedChunk
from ragctl.records.pages import Page
from ragctl.records.search import Query

ROWS = 300


def _vector(seed: int) -> array[float]:
    numbers = random.Random(seed)
    return array("f", [numbers.gauss(0, 1) for _ in range(768)])


def _page(number: int) -> Page:
    return Page(
        url=f"/t{number % 3}/p{number}",
        track=f"t{number % 3}",
        title=f"Page {number}",
        source_path=f"p{number}.md",
        sha256="",
        text="text",
        front_matter={},
        is_landing=False,
        is_draft=False,
        order=(0.0, ""),
        headings=(),
        source_lines=(1,),
    )


def _chunk(page: Page, position: int) -> Chunk:
    return Chunk(
        url=page.url,
        track=page.track,
        position=position,
        ref=f"{page.url}#c{position}",
        section=None,
        anchor=None,
        breadcrumb="",
        start_char=position,
        end_char=position + 1,
        body="body " * 100,
    )


@pytest.fixture
def filled(database: Database) -> Database:
    """Three hundred passages on thirty pages in three tracks."""
    for number in range(30):
        page = _page(number)
        passages = [
            EmbeddedChunk(
                chunk=_chunk(page, position),
                vector=_vector(number * 10 + position),
                content_hash="",
            )
            for position in range(ROWS // 30)
        ]
        database.chunks.replace(database.pages.store(page, parsed_with="1", refused=0), passages)
    return database


def _cosine(one: array[float], other: array[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    norms = sum(a * a for a in one) * sum(b * b for b in other)
    return float(dot / norms**0.5)


def test_it_finds_what_a_look_at_every_vector_finds(filled: Database) -> None:
    for seed in range(1000, 1010):
        query = _vector(seed)
        scores = {
            f"/t{number % 3}/p{number}#c{position}": _cosine(query, _vector(number * 10 + position))
            for number in range(30)
            for position in range(10)
        }
        best = sorted(scores, key=lambda ref: -scores[ref])[:5]
        hits = filled.chunks.retrieve(Query(text="", vector=query, k=5))
        assert [hit.ref for hit in hits] == best
        for hit in hits:
            assert hit.vector_score == pytest.approx(scores[hit.ref], abs=1e-5)


def _plan(url: str, tracks: list[str] | None) -> str:
    with connect(url) as connection:
        register_vectors(connection, url)
        values = {"vector": to_database(_vector(1)), "tracks": tracks, "pages": None, "k": 5}
        explained = connection.execute(
            b"EXPLAIN (VERBOSE, FORMAT JSON, COSTS OFF) " + statement("chunks/nearest"), values
        ).fetchone()
    assert explained is not None
    return json.dumps(explained[0])


def _nodes(plan: Any) -> list[dict[str, Any]]:
    own = [plan] if "Node Type" in plan else []
    return own + [node for child in plan.get("Plans", []) for node in _nodes(child)]


@pytest.mark.parametrize("tracks", [None, ["t1"]])
def test_the_plan_scans_exactly_and_joins_texts_for_the_five_alone(
    tracks: list[str] | None, filled: Database
) -> None:
    with connect(filled.url) as connection:
        connection.execute(
            "CREATE INDEX vectors ON chunks USING hnsw (embedding vector_cosine_ops)"
        )
        connection.execute("ANALYZE chunks")
    plan = _plan(filled.url, tracks)
    nodes = _nodes(json.loads(plan)[0]["Plan"])
    assert "vectors" not in {node.get("Index Name") for node in nodes}
    (scan,) = [
        node
        for node in nodes
        if node.get("Relation Name") == "chunks" and "chunks.body" not in str(node.get("Output"))
        and node.get("Alias") == "chunks"
    ]  # fmt: skip
    assert sum("<=>" in output for output in scan["Output"]) <= 1
    (limit,) = [node for node in nodes if node["Node Type"] == "Limit"]
    assert all("body" not in output for output in limit["Output"])


def test_the_embedding_cache_gives_back_the_very_numbers(database: Database) -> None:
    from ragctl.records.vectors import EmbeddingIdentity

    def identity(digest: str) -> EmbeddingIdentity:
        return EmbeddingIdentity(
            provider="p", model="m", digest=digest, dimensions=768,
            document_prefix="", query_prefix="",
        )  # fmt: skip

    cache = database.embedding_cache(identity("one"))
    cache.remember({"a": _vector(1), "b": _vector(2)})
    cache.remember({"a": _vector(3)})
    assert cache.known(["a", "b", "c"]) == {"a": _vector(1), "b": _vector(2)}
    assert database.embedding_cache(identity("two")).known(["a"]) == {}


def test_a_page_is_replaced_whole_or_not_at_all(
    database: Database, connection: psycopg.Connection[tuple[object, ...]]
) -> None:
    page = _page(1)
    good = EmbeddedChunk(chunk=_chunk(page, 0), vector=_vector(1), content_hash="")
    with database.transaction():
        database.chunks.replace(database.pages.store(page, parsed_with="1", refused=0), [good])
    bad = EmbeddedChunk(chunk=_chunk(page, 0), vector=array("f", [1.0]), content_hash="")
    with pytest.raises(psycopg.Error), database.transaction():
        database.chunks.replace(database.pages.store(page, parsed_with="1", refused=3), [good, bad])
    assert connection.execute("SELECT refused FROM pages").fetchall() == [(0,)]
    assert len(connection.execute("SELECT FROM chunks").fetchall()) == 1
