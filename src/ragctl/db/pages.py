"""The table ``pages``: the site's pages as parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from psycopg.rows import class_row, scalar_row, tuple_row

from ragctl.db.statements import statement
from ragctl.db.values import to_json
from ragctl.records.links import StoredLink
from ragctl.records.stored import LedgerLine, PageText, StoredPage

if TYPE_CHECKING:
    from ragctl.db.connect import Connection
    from ragctl.records.pages import Page


class Pages:
    """Reads and writes pages; a page is replaced under its address and keeps its id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self, *, track: str | None = None) -> list[StoredPage]:
        """Return the pages of a track, or all, in reading order."""
        with self._connection.cursor(row_factory=class_row(StoredPage)) as cursor:
            return cursor.execute(statement("pages/select"), {"track": track}).fetchall()

    def text(self, url: str) -> PageText | None:
        """Return the text of the page at an address and where its lines come from."""
        with self._connection.cursor(row_factory=class_row(PageText)) as cursor:
            return cursor.execute(statement("pages/texts"), {"url": url}).fetchone()

    def ledger(self, *, track: str | None = None) -> list[LedgerLine]:
        """Return what each page of a track, or of all, gave at each stage."""
        with self._connection.cursor(row_factory=class_row(LedgerLine)) as cursor:
            return cursor.execute(statement("pages/ledger"), {"track": track}).fetchall()

    def texts(self) -> dict[str, str]:
        """Return the texts of all pages but landing pages, by address."""
        with self._connection.cursor(row_factory=tuple_row) as cursor:
            return dict(cursor.execute(statement("pages/all_texts")))

    def tracks(self) -> list[str]:
        """Return the names of the tracks that have pages."""
        with self._connection.cursor(row_factory=scalar_row) as cursor:
            return cursor.execute(statement("pages/tracks")).fetchall()

    def store(self, page: Page, *, parsed_with: str, refused: int) -> int:
        """Store one page and return its id; see :meth:`store_all`."""
        return self.store_all([(page, refused)], parsed_with=parsed_with)[0]

    def store_all(self, pages: Sequence[tuple[Page, int]], *, parsed_with: str) -> list[int]:
        """Store pages, each with its count of passages without a vector; return ids in order.

        ``parsed_with`` is the signature of the parser. The pages travel in one statement, which is
        planned once: no address may occur twice.
        """
        if not pages:
            return []
        rows = [_values(page, refused=count) for page, count in pages]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        values = {**columns, "parsed_with": parsed_with}
        with self._connection.cursor(row_factory=tuple_row) as cursor:
            ids: dict[str, int] = dict(cursor.execute(statement("pages/upsert"), values))
        return [ids[page.url] for page, _ in pages]

    def touch(self, page_id: int, *, size_bytes: int, mtime_ns: int) -> None:
        """Note size and time of a file that changed without changing its content."""
        self._connection.execute(
            statement("pages/touch"),
            {"id": page_id, "size_bytes": size_bytes, "mtime_ns": mtime_ns},
        )

    def links(self) -> list[StoredLink]:
        """Return every link that can be printed, by page, the page's own before its sections'."""
        with self._connection.cursor(row_factory=class_row(StoredLink)) as cursor:
            return cursor.execute(statement("pages/links")).fetchall()

    def mark_links(self, *, dead: Sequence[str] | None) -> None:
        """Note that all pages but ``dead`` are on the built site; ``None``: none was checked."""
        values = {"dead": None if dead is None else list(dead)}
        self._connection.execute(statement("pages/mark_links"), values)

    def remove(self, urls: Sequence[str]) -> None:
        """Remove pages and their passages."""
        self._connection.execute(statement("pages/delete"), {"urls": list(urls)})

    def remove_all(self) -> None:
        """Remove every page and passage."""
        self._connection.execute(statement("pages/delete_all"))

    def renumber(self) -> None:
        """Number the pages of each track in reading order."""
        self._connection.execute(statement("pages/renumber"))


def _values(page: Page, *, refused: int) -> dict[str, object]:
    return {
        "url": page.url,
        "track": page.track,
        "title": page.title,
        "sort_number": page.order[0],
        "sort_name": page.order[1],
        "source_path": page.source_path,
        "sha256": page.sha256,
        "text": page.text,
        "source_lines": "{" + ",".join(map(str, page.source_lines)) + "}",
        "front_matter": to_json(dict(page.front_matter)),
        "is_landing": page.is_landing,
        "is_draft": page.is_draft,
        "words": len(page.text.split()),
        "refused": refused,
        "size_bytes": page.size_bytes,
        "mtime_ns": page.mtime_ns,
    }
