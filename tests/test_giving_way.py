"""An ingest gives way between batches, wherever it is handed something to give way by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragctl import wiring
from ragctl.db.database import Database
from ragctl.files import find
from ragctl.indexing import IngestOptions
from ragctl.pipeline.ingest import ingest
from ragctl.records.vectors import EmbeddingIdentity, Purpose, Vector
from ragctl.settings import Settings
from tests.ollama_server import unit_vector


class Embedder:
    """Embeds, and notes when."""

    identity = EmbeddingIdentity(
        provider="ollama", model="m", digest="", dimensions=768,
        document_prefix="", query_prefix="",
    )  # fmt: skip

    def __init__(self, done: list[str]) -> None:
        self._done = done

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        from array import array

        self._done.append("embed")
        return [array("f", unit_vector(text)) for text in texts]


def test_an_ingest_gives_way_after_every_batch_and_outside_of_transactions(
    database: Database, tmp_path: Path
) -> None:
    for number in range(4):
        (tmp_path / f"{number}.md").write_text(f"# Page {number}\n\nText of page {number}.\n")
    done: list[str] = []

    def give_way() -> None:
        assert not database.someone_asks()  # by the ingest's own connection, as it really does
        done.append("give way")

    found, settings = find(tmp_path), Settings()
    with database.ingesting():
        ingest(
            found.sources,
            found.left_out,
            options=IngestOptions(
                root=str(tmp_path),
                covers=lambda _page: True,
                parser=wiring.make_parser(settings),
                batch_size=1,
                in_flight=1,
                give_way=give_way,
            ),
            database=database,
            chunker=wiring.make_chunker(settings),
            embedder=Embedder(done),
            report=lambda _progress: None,
            clock=lambda: 0.0,
        )
    assert done.count("embed") == 4
    assert done.count("give way") == 4
    assert done.index("give way") < 3, "not only at the end"
    assert len(database.pages.all()) == 4
