"""A model that works for no text at all is told from a text that upsets a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragctl.db.database import Database
from ragctl.errors import EmbeddingRefused, ModelReplyError
from ragctl.indexing import IngestOptions, with_vectors
from ragctl.ledger import Ledger
from ragctl.records.chunks import Chunk
from ragctl.records.pages import Page, SourceFile
from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.parse import MarkdownParser


class Broken:
    """Refuses every text, for the same reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.identity = EmbeddingIdentity(
            provider="test",
            model="broken",
            digest="",
            dimensions=768,
            document_prefix="",
            query_prefix="",
        )

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        raise EmbeddingRefused("it answered a vector of zeros", reason=self.reason)


def _pages(parser: MarkdownParser, count: int) -> list[tuple[Page, tuple[Chunk, ...]]]:
    made = []
    for number in range(count):
        source = SourceFile(
            path=f"{number}.md",
            absolute=Path(f"{number}.md"),
            url=f"/{number}",
            track="root",
            is_landing=False,
            size_bytes=0,
            mtime_ns=0,
        )
        page = parser.parse(source, f"# Page {number}\n\nText of it.\n".encode())
        made.append((page, StructuredChunker().chunk(page)))
    return made


def _run(database: Database, reason: str, *, pages: int) -> int:
    parser = MarkdownParser()
    options = IngestOptions(root="/site", covers=lambda page: True, parser=parser)
    ledger = Ledger([], [], clock=lambda: 0.0, report=lambda progress: None)
    made = _pages(parser, pages)
    batches = with_vectors(made, database, Broken(reason), options, ledger)
    return sum(page.refused for batch in batches for page in batch)


def test_a_model_that_gives_numbers_for_no_text_ends_the_run(database: Database) -> None:
    with pytest.raises(ModelReplyError, match="none of the first 20 passages") as caught:
        _run(database, "not_finite", pages=20)
    assert "a vector of zeros" in caught.value.message
    assert "OLLAMA_NUM_GPU" in caught.value.hint


@pytest.mark.parametrize(("reason", "pages"), [("not_finite", 3), ("too_long", 20)])
def test_a_few_texts_or_texts_that_are_too_long_do_not(
    reason: str, pages: int, database: Database
) -> None:
    assert _run(database, reason, pages=pages) == pages
