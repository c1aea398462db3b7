"""The index in a file and the index in PostgreSQL find the same passages."""

from __future__ import annotations

import json
import random
from array import array
from itertools import pairwise
from pathlib import Path

import pytest

from ragctl.artifacts.index import nearest, write_index
from ragctl.artifacts.vectors import read_vectors, writing_vectors
from ragctl.db.database import Database
from ragctl.files import find, read
from ragctl.records.chunks import Chunk, EmbeddedChunk
from ragctl.records.pages import Page
from ragctl.records.search import Query
from ragctl.records.vectors import Vector
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.parse import parse
from tests.ollama_server import unit_vector

TOLERANCE = 2e-6  # PostgreSQL adds float32 products in float32


def _page() -> Page:
    return Page(
        url="/t/p",
        track="t",
        title="P",
        source_path="t/p.md",
        sha256="",
        text="text",
        front_matter={},
        is_landing=False,
        is_draft=False,
        order=(0.0, ""),
        headings=(),
        source_lines=(1,),
    )


def _chunk(number: int) -> Chunk:
    return Chunk(
        url="/t/p",
        track="t",
        position=number,
        ref=f"/t/p#c{number}",
        section=None,
        anchor=None,
        breadcrumb="",
        start_char=number,
        end_char=number + 1,
        body="body",
    )


def _require_agreement(
    database: Database, folder: Path, vectors: list[Vector], questions: list[Vector]
) -> None:
    page_id = database.pages.store(_page(), parsed_with="1", refused=0)
    passages = [
        EmbeddedChunk(chunk=_chunk(number), vector=vector, content_hash=f"h{number}")
        for number, vector in enumerate(vectors)
    ]
    database.chunks.replace(page_id, passages)
    stored = database.chunks.vectors_of("/t/p")
    with writing_vectors(folder, dimensions=768) as write:
        for passage in passages:
            write(passage.chunk.ref, passage.content_hash, stored[passage.content_hash])
    write_index(folder, read_vectors(folder))
    for question in questions:
        hits = database.chunks.retrieve(Query(text="?", vector=question, k=5))
        rows = nearest(folder, question, k=5)
        for hit, row in zip(hits, rows, strict=True):
            assert hit.vector_score == pytest.approx(row.score, abs=TOLERANCE)
        clear = all(one.score - other.score > TOLERANCE for one, other in pairwise(rows))
        if clear:
            assert [hit.ref for hit in hits] == [row.ref for row in rows]


def test_the_five_nearest_of_random_vectors_agree(database: Database, tmp_path: Path) -> None:
    numbers = random.Random(7)

    def vector(length: float) -> Vector:
        return array("f", [length * numbers.gauss(0, 1) for _ in range(768)])

    vectors = [vector(numbers.uniform(0.01, 100)) for _ in range(300)]
    questions = [vector(1) for _ in range(20)] + vectors[:5]
    _require_agreement(database, tmp_path, vectors, questions)


@pytest.mark.corpus
def test_the_five_nearest_agree_on_every_question_of_the_real_site(
    database: Database, tmp_path: Path, corpus_site: Path
) -> None:
    file = corpus_site.parents[2] / "questions.dev.jsonl"
    questions = [
        json.loads(line)["question"] for line in file.read_text(encoding="utf-8").splitlines()
    ]
    texts: list[str] = []
    for source in find(corpus_site).sources[::10]:
        page = parse(source, read(source))
        texts += [chunk.body for chunk in FixedChunker().chunk(page)][:40]
    vectors = [_vector(text) for text in texts]
    _require_agreement(database, tmp_path, vectors, [_vector(text) for text in questions])


def _vector(text: str) -> Vector:
    return array("f", unit_vector(text))
