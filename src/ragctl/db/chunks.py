"""The table ``chunks``: passages with their vectors, and the exact search over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from psycopg.rows import class_row, dict_row, scalar_row

from ragctl.db.search import VectorRetriever
from ragctl.db.statements import statement
from ragctl.db.values import from_database, storable, to_database
from ragctl.records.chunks import Chunk, EmbeddedChunk
from ragctl.records.search import Hit, PassageRank, Query
from ragctl.records.stored import StoredChunk

if TYPE_CHECKING:
    from ragctl.db.connect import Connection
    from ragctl.records.vectors import Vector

_TYPES = (
    *("text", "text", "text", "text", "vector"),  # track, url, section, body, embedding
    *("int4", "int4", "text", "text", "text"),  # page_id, position, ref, anchor, breadcrumb
    *("int4", "int4", "text"),  # start_char, end_char, content_hash
    *("text[]", "text"),  # names, name_words
)
Naming = Callable[[str], tuple[Sequence[str], str]]
"""Returns the exact names in a text, and the words that they are made of."""


def _unnamed(_text: str) -> tuple[Sequence[str], str]:
    return (), ""


class Chunks:
    """Writes passages and finds the nearest ones; a :class:`~ragctl.protocols.Retriever`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def replace(
        self, page_id: int, passages: Iterable[EmbeddedChunk], *, naming: Naming = _unnamed
    ) -> None:
        """Store the passages of one page; see :meth:`replace_all`."""
        self.replace_all({page_id: passages}, naming=naming)

    def replace_all(
        self, passages: Mapping[int, Iterable[EmbeddedChunk]], *, naming: Naming = _unnamed
    ) -> None:
        """Store the passages of pages, by page id, with their names, in place of those they had."""
        page_ids = list(passages)
        self._connection.execute(statement("chunks/delete_of_pages"), {"page_ids": page_ids})
        with self._connection.cursor().copy(statement("chunks/copy")) as copy:
            copy.set_types(_TYPES)
            for page_id, of_page in passages.items():
                for passage in of_page:
                    copy.write_row(_row(page_id, passage, naming))

    def refresh_terms(self) -> None:
        """Count anew in how many passages each term occurs, where passages came or went."""
        with self._connection.cursor(row_factory=scalar_row) as cursor:
            if cursor.execute(statement("terms/are_stale")).fetchone():
                cursor.execute(statement("terms/refresh"))

    def mark_links(self, *, dead: Sequence[tuple[str, str]] | None) -> None:
        """Note that all anchors but ``dead`` (address, anchor) land; ``None``: none was checked."""
        values = {
            "urls": None if dead is None else [url for url, _ in dead],
            "anchors": None if dead is None else [anchor for _, anchor in dead],
        }
        self._connection.execute(statement("chunks/mark_links"), values)

    def count(self, *, tracks: Sequence[str] = ()) -> int:
        """Return how many passages some tracks, or all, hold."""
        with self._connection.cursor(row_factory=scalar_row) as cursor:
            found = cursor.execute(statement("chunks/count"), {"tracks": list(tracks) or None})
            count = found.fetchone()
        assert isinstance(count, int)
        return count

    def of_page(self, page_id: int) -> list[StoredChunk]:
        """Return the passages of one page in order."""
        with self._connection.cursor(row_factory=dict_row) as cursor:
            rows = cursor.execute(statement("chunks/of_page"), {"page_id": page_id}).fetchall()
        return [
            StoredChunk(id=row.pop("id"), content_hash=row.pop("content_hash"), chunk=Chunk(**row))
            for row in rows
        ]

    def by_id_or_ref(self, ids: Sequence[int], refs: Sequence[str]) -> list[Hit]:
        """Return the passages that have one of these ids or references, without rank and score."""
        values = {"ids": list(ids), "refs": [storable(ref) for ref in refs]}
        with self._connection.cursor(row_factory=class_row(Hit)) as cursor:
            return cursor.execute(statement("chunks/by_id_or_ref"), values).fetchall()

    def rank(self, query: Query, chunk_ids: Sequence[int]) -> PassageRank:
        """Return the exact rank of the nearest of some passages among all that are searched."""
        values = {
            "vector": to_database(query.vector),
            "tracks": list(query.tracks) or None,
            "k": query.k,
            "chunk_ids": list(chunk_ids),
        }
        with self._connection.cursor(row_factory=class_row(PassageRank)) as cursor:
            found = cursor.execute(statement("chunks/rank"), values).fetchone()
        assert found is not None
        return found

    def vectors_of(self, url: str) -> Mapping[str, Vector]:
        """Return the vectors of one page's passages, by content hash."""
        with self._connection.cursor(binary=True) as cursor:
            rows = cursor.execute(statement("chunks/vectors_of_page"), {"url": url})
            return {content_hash: from_database(vector) for content_hash, vector in rows}

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return the ``query.k`` passages with the highest cosine similarity, best first."""
        return VectorRetriever(self._connection).retrieve(query)


def _row(page_id: int, passage: EmbeddedChunk, naming: Naming) -> tuple[object, ...]:
    """Return the columns of ``chunks/copy``."""
    chunk = passage.chunk
    heading = chunk.breadcrumb or chunk.section or ""
    names, name_words = naming(f"{heading}\n\n{chunk.body}")
    return (
        chunk.track,
        chunk.url,
        chunk.section,
        chunk.body,
        to_database(passage.vector),
        page_id,
        chunk.position,
        chunk.ref,
        chunk.anchor,
        chunk.breadcrumb,
        chunk.start_char,
        chunk.end_char,
        passage.content_hash,
        list(names),
        name_words,
    )
