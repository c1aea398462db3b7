"""What makes the searches fast, read from their plans: never from a clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import pytest

from ragctl.db.connect import Connection, connect, register_vectors
from ragctl.db.database import Database
from ragctl.db.search import HybridRetriever, KeywordRetriever, VectorRetriever
from ragctl.protocols import Retriever
from ragctl.records.search import Query
from ragctl.stages.names import names_asked
from tests.bench.rows import Corpus, load

ROWS = 600
Node = dict[str, Any]


@pytest.fixture
def explained(database: Database) -> Iterator[Connection]:
    """A connection to six hundred passages, with an index of vectors that must not be used."""
    with connect(database.url) as connection:
        load(Corpus(ROWS), database, connection)
        connection.execute(
            "CREATE INDEX vectors ON chunks USING hnsw (embedding vector_cosine_ops)"
        )
        connection.execute("SET enable_seqscan TO off")
        register_vectors(connection, database.url)
        yield connection


class _Overheard:
    """Stands where a connection does and keeps what a retriever sends."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, Mapping[str, object]]] = []

    def cursor(self, **_options: object) -> AbstractContextManager[_Overheard]:
        return nullcontext(self)

    def execute(self, statement: bytes, values: Mapping[str, object]) -> Sequence[object]:
        self.sent.append((statement, values))
        return ()


def _plan(mode: str, connection: Connection, **filters: tuple[str, ...]) -> Node:
    """Return the plan of the very statement and values that a search of this mode sends."""
    overheard = _Overheard()
    place = cast("Connection", overheard)
    retrievers: dict[str, Retriever] = {
        "vector": VectorRetriever(place),
        "hybrid": HybridRetriever(place, names_asked=names_asked),
        "keyword": KeywordRetriever(place, names_asked=names_asked),
    }
    vector = Corpus(ROWS).vectors(1)[0]
    text = "the passages of planted_name_0 and their vectors"
    retrievers[mode].retrieve(Query(text=text, vector=vector, k=5, **filters))
    ((statement, values),) = overheard.sent
    row = connection.execute(
        b"EXPLAIN (VERBOSE, FORMAT JSON, COSTS OFF) " + statement, values
    ).fetchone()
    assert row is not None
    plan: Node = row[0][0]["Plan"]
    return plan


def _nodes(plan: Node) -> list[Node]:
    return [plan, *(node for child in plan.get("Plans", ()) for node in _nodes(child))]


def _scans(plan: Node) -> list[Node]:
    """Return the nodes that read the table of passages otherwise than one by its id."""
    return [
        node
        for node in _nodes(plan)
        if node.get("Relation Name") == "chunks" and node.get("Index Name") != "chunks_pkey"
    ]


def _limits(plan: Node) -> list[Node]:
    return [node for node in _nodes(plan) if node["Node Type"] == "Limit"]


def _told(node: Node, *names: str) -> str:
    return " ".join(str(below.get(name, "")) for below in _nodes(node) for name in names)


MODES = ("vector", "hybrid", "keyword")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("filters", [{}, {"tracks": ("t12",)}, {"pages": ("/t12/1",)}])
def test_no_search_takes_an_index_of_vectors_that_nobody_has_measured(
    mode: str, filters: dict[str, tuple[str, ...]], explained: Connection
) -> None:
    nodes = _nodes(_plan(mode, explained, **filters))
    assert "vectors" not in {node.get("Index Name") for node in nodes}


@pytest.mark.parametrize(("mode", "scans"), [("vector", 1), ("hybrid", 1), ("keyword", 0)])
def test_a_distance_is_computed_once_a_passage(
    mode: str, scans: int, explained: Connection
) -> None:
    computing = [
        node for node in _scans(_plan(mode, explained)) if "<=>" in str(node.get("Output"))
    ]
    assert len(computing) == scans
    for node in computing:
        assert str(node["Output"]).count("<=>") == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("filters", "column"), [({"tracks": ("t12",)}, "track"), ({"pages": ("/t12/1",)}, "url")]
)
def test_a_filter_is_applied_where_passages_are_read(
    mode: str, filters: dict[str, tuple[str, ...]], column: str, explained: Connection
) -> None:
    plan = _plan(mode, explained, **filters)
    scans = [node for node in _scans(plan) if not _looks_for_a_name(node)]
    assert len(scans) == {"vector": 1, "hybrid": 2, "keyword": 1}[mode]
    for node in scans:
        assert column in _told(node, "Filter", "Index Cond"), node


def _looks_for_a_name(node: Node) -> bool:
    """Tell whether a scan finds holders of a rare name: they are joined with what was scored."""
    return "name_words" in str(node.get("Filter"))


@pytest.mark.parametrize("mode", MODES)
def test_texts_and_pages_are_joined_for_the_five_alone(mode: str, explained: Connection) -> None:
    plan = _plan(mode, explained)
    limits = _limits(plan)
    assert limits
    for limit in limits:
        passed_on = [node for node in _nodes(limit) if "Relation Name" not in node]
        assert not [node for node in passed_on if "body" in str(node.get("Output"))]
        assert "pages" not in {node.get("Relation Name") for node in _nodes(limit)}
    (pages,) = [node for node in _nodes(plan) if node.get("Relation Name") == "pages"]
    assert pages not in [node for limit in limits for node in _nodes(limit)]


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_words_are_looked_up_in_their_index(mode: str, explained: Connection) -> None:
    nodes = _nodes(_plan(mode, explained))
    assert "chunks_search" in {node.get("Index Name") for node in nodes}


def test_vectors_lie_in_line_and_texts_do_not(explained: Connection) -> None:
    stored = explained.execute(
        "SELECT attname, attstorage FROM pg_attribute "
        "WHERE attrelid = 'chunks'::regclass AND attname IN ('embedding', 'body')"
    ).fetchall()
    assert dict(stored) == {"embedding": "p", "body": "x"}
