"""Finding passages: by nearness, by words, or by both; each a retriever, each one statement.

The keyword score of a passage is the sum, over the terms of the question that it holds, of
``idf x ts_rank``; ``idf`` is that of BM25 (Robertson and Sparck Jones), from the table ``terms``,
and ``ts_rank`` of a single term is a count that saturates. Divided by the best one it goes from 0
to 1, and with the cosine it makes the fused score, a convex combination (Bruch, Gai, Ingber: An
Analysis of Fusion Functions for Hybrid Retrieval, 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.rows import class_row, dict_row, scalar_row

from ragctl.db.statements import statement
from ragctl.db.values import searchable, storable, to_database
from ragctl.records.evidence import CoveredTerm, TermShare
from ragctl.records.search import Hit, PassageRank, PassageRanks, Query

if TYPE_CHECKING:
    from ragctl.db.connect import Connection

VECTOR_WEIGHT: Final = 0.8
"""What the cosine counts in the fused score; the keyword score counts the rest."""

KEYWORD_DEPTH: Final = 4
"""The keyword arm hands in this many times as many passages as are asked for."""

RARE: Final = 2
"""A name in at most so many passages brings one of them in: two, for passages may overlap."""

COMMON_SHARE: Final = 16
COMMON_FROM: Final = 200
"""A term in more than this many passages, and in more than one in 16, brings none in by itself."""

_FUSION: Final = {
    "keyword_depth": KEYWORD_DEPTH,
    "common_share": COMMON_SHARE,
    "common_from": COMMON_FROM,
    "vector_weight": VECTOR_WEIGHT,
}

WIDEST: Final = 1000
"""The most candidates that a search by the index can keep: pgvector's limit of hnsw.ef_search."""

NamesAsked = Callable[[str], Sequence[str]]
"""Returns the exact names that a question may mean, in the form they have in ``chunks.names``."""


class IndexScan:
    """The nearest passages as an approximate index finds them: ``k`` or fewer.

    ``width`` is how many candidates a search keeps (hnsw.ef_search); with ``is_iterative`` the
    server goes on until a filter has its rows. All of it holds for one transaction, as a pooler
    wants it.
    """

    def __init__(self, connection: Connection, *, width: int, is_iterative: bool) -> None:
        self._connection = connection
        self._width = width
        self._is_iterative = is_iterative

    def suits(self, query: Query) -> bool:
        """Tell whether the index may be asked.

        Not for pages, which the exact scan finds sooner; for tracks only where no row is lost;
        not for more passages than half of the widest search.
        """
        if query.pages or (query.tracks and not self._is_iterative):
            return False
        return 2 * query.k <= WIDEST

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return what the index finds, best first; it is looked through wide enough for ``k``."""
        with self._limited(query):
            return _hits(self._connection, "chunks/nearest_by_index", self._values(query))

    def indexes(self, query: Query) -> set[str]:
        """Return the names of the indexes that the server would use for a query."""
        explained = b"EXPLAIN (FORMAT JSON) " + statement("chunks/nearest_by_index")
        with self._limited(query):
            row = self._connection.execute(explained, self._values(query)).fetchone()
        assert row is not None
        return set(_index_names(row[0][0]["Plan"]))

    @contextmanager
    def _limited(self, query: Query) -> Iterator[None]:
        width = max(self._width, 2 * query.k)
        with self._connection.transaction():
            self._connection.execute(
                statement("vector_index/search_limits"),
                {"width": width, "is_iterative": self._is_iterative},
            )
            yield

    def _values(self, query: Query) -> dict[str, object]:
        tracks = list(query.tracks) or None
        return {"vector": to_database(query.vector), "tracks": tracks, "k": query.k}


def _index_names(plan: Mapping[str, Any]) -> Iterator[str]:
    if "Index Name" in plan:
        yield plan["Index Name"]
    for child in plan.get("Plans", ()):
        yield from _index_names(child)


def index_in_use(connection: Connection) -> IndexScan | None:
    """Return the search by the index that is in use; ``None`` where searches are exact."""
    with connection.cursor(row_factory=scalar_row) as cursor:
        try:
            width = cursor.execute(statement("vector_index/in_use")).fetchone()
        except psycopg.errors.InsufficientPrivilege:  # a reader's grants may be older
            return None
        if width is None:
            return None
        is_iterative = cursor.execute(statement("vector_index/usable")).fetchone()
    if is_iterative is None:
        return None
    return IndexScan(connection, width=width, is_iterative=is_iterative)


class VectorRetriever:
    """The ``k`` nearest passages, by an exact scan; a :class:`~ragctl.protocols.Retriever`.

    With an index, by that, wherever it finds as many as were asked for.
    """

    def __init__(self, connection: Connection, *, index: IndexScan | None = None) -> None:
        self._connection = connection
        self._index = index

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return the passages with the highest cosine similarity, best first."""
        found = _by_index(self._index, query)
        if found:
            return found
        values = {"vector": to_database(query.vector), **_filters(query), "k": query.k}
        return _hits(self._connection, "chunks/nearest", values)


class KeywordRetriever:
    """The ``k`` best passages by words and names, without a model."""

    def __init__(self, connection: Connection, *, names_asked: NamesAsked) -> None:
        self._connection = connection
        self._names_asked = names_asked

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return the passages with the highest keyword score, best first; the vector is unused."""
        values = {**_asked(query.text, self._names_asked), **_filters(query), "k": query.k}
        return _hits(self._connection, "chunks/keyword", values)


class HybridRetriever:
    """The ``k`` best passages by nearness and words together.

    One arm is the exact scan for the ``k`` nearest, the other brings the best by words; both
    scores are computed for all of them. A question without a vector is answered by words alone.
    With an index, that is asked for the nearest, wherever it finds ``k``.
    """

    def __init__(
        self, connection: Connection, *, names_asked: NamesAsked, index: IndexScan | None = None
    ) -> None:
        self._connection = connection
        self._names_asked = names_asked
        self._index = index

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return the passages with the highest fused score, best first."""
        if not query.vector:
            return KeywordRetriever(self._connection, names_asked=self._names_asked).retrieve(query)
        nearest = _by_index(self._index, query)
        values = {
            "vector": to_database(query.vector),
            "nearest_ids": [hit.chunk_id for hit in nearest] or None,
            **_asked(query.text, self._names_asked),
            **_filters(query),
            "k": query.k,
            "rare": RARE,
            **_FUSION,
        }
        return _hits(self._connection, "chunks/hybrid", values)


class Rankings:
    """Ranks passages among all, by every score that search knows."""

    def __init__(self, connection: Connection, *, names_asked: NamesAsked) -> None:
        self._connection = connection
        self._names_asked = names_asked

    def of(self, query: Query, chunk_ids: Sequence[int]) -> PassageRanks:
        """Return the exact ranks of the best of some passages; the pages of the query are unused.

        The fused score is that of :class:`HybridRetriever`, computed for every passage: a rank
        within ``k`` is no promise where neither arm reaches the passage.
        """
        values = {
            "vector": to_database(query.vector) if query.vector else None,
            **_asked(query.text, self._names_asked),
            "tracks": list(query.tracks) or None,
            "k": query.k,
            **_FUSION,
            "chunk_ids": list(chunk_ids),
        }
        with self._connection.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(statement("chunks/rank_hybrid"), values).fetchall()
        found = {row["ranking"]: row for row in rows}
        return PassageRanks(
            by_nearness=_rank(found["vector"]),
            by_words=_rank(found["keyword"]),
            by_both=_rank(found["fused"]),
            searched=found["fused"]["searched"],
            passages=found["fused"]["passages"],
            is_reached=bool(found["fused"]["is_reached"]),
        )


def _rank(row: Mapping[str, Any]) -> PassageRank:
    return PassageRank(
        **{name: row[name] for name in ("chunk_id", "rank", "score", "among", "score_at_k")}
    )


class TermShares:
    """Takes the keyword scores of passages apart."""

    def __init__(self, connection: Connection, *, names_asked: NamesAsked) -> None:
        self._connection = connection
        self._names_asked = names_asked

    def of(self, question: str, hits: Sequence[Hit]) -> dict[int, list[TermShare]]:
        """Return the terms of a question that each passage holds, the heaviest first, by id."""
        values = {
            **_asked(question, self._names_asked),
            "chunk_ids": [hit.chunk_id for hit in hits],
        }
        shares: dict[int, list[TermShare]] = {hit.chunk_id: [] for hit in hits}
        with self._connection.cursor(row_factory=class_row(TermShare)) as cursor:
            for share in cursor.execute(statement("chunks/explain"), values):
                shares[share.chunk_id].append(share)
        return shares


class Coverage:
    """Tells which terms of a question some passages hold."""

    def __init__(self, connection: Connection, *, names_asked: NamesAsked) -> None:
        self._connection = connection
        self._names_asked = names_asked

    def of(self, question: str, hits: Sequence[Hit]) -> tuple[CoveredTerm, ...]:
        """Return the terms of a question, the heaviest first, those of no passage included."""
        values = {
            **_asked(question, self._names_asked),
            "chunk_ids": [hit.chunk_id for hit in hits],
        }
        with self._connection.cursor(row_factory=class_row(CoveredTerm)) as cursor:
            return tuple(cursor.execute(statement("chunks/coverage"), values))


def _by_index(index: IndexScan | None, query: Query) -> tuple[Hit, ...]:
    """Return the ``k`` that an index finds; nothing where the exact scan must find them."""
    if index is None or not index.suits(query):
        return ()
    found = index.retrieve(query)
    return found if len(found) == query.k else ()


def _asked(question: str, names_asked: NamesAsked) -> dict[str, object]:
    return {"question": searchable(question), "names": list(names_asked(storable(question)))}


def _filters(query: Query) -> dict[str, object]:
    return {"tracks": list(query.tracks) or None, "pages": list(query.pages) or None}


def _hits(connection: Connection, name: str, values: dict[str, object]) -> tuple[Hit, ...]:
    with connection.cursor(row_factory=class_row(Hit)) as cursor:
        return tuple(cursor.execute(statement(name), values))
