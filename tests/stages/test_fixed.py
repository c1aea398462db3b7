"""The fixed chunker: its rule, its labels, its references, and the published figure."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.errors import SettingsError
from ragctl.protocols import Chunker
from ragctl.records.pages import Page, SourceFile
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.parse import parse

PASSAGES_OF_THE_REFERENCE = 3_902
PASSAGES_OF_THE_SITE = 3_872


def page_of(text: str, path: str = "guide/quay.md") -> Page:
    source = SourceFile(
        path=path,
        absolute=Path(path),
        url="/" + path.removesuffix(".md"),
        track="guide",
        is_landing=False,
        size_bytes=len(text),
        mtime_ns=0,
    )
    return parse(source, text.encode())


def bare_page(text: str) -> Page:
    return replace(page_of("x"), text=text, headings=())


@pytest.mark.parametrize(("size", "overlap"), [(50, 50), (50, 80), (0, 0), (-5, 0), (10, -1)])
def test_sizes_that_cannot_work_are_refused_naming_both(size: int, overlap: int) -> None:
    with pytest.raises(SettingsError) as caught:
        FixedChunker(size, overlap)
    assert str(size) in caught.value.message and str(overlap) in caught.value.message
    assert "\n" not in caught.value.message


def test_it_is_a_chunker_with_a_name_and_parameters() -> None:
    chunker: Chunker = FixedChunker()
    assert chunker.name == "fixed"
    assert chunker.parameters == {"size": 800, "overlap": 100}


def test_paragraphs_are_packed_and_the_end_is_carried_over_from_a_word_start() -> None:
    page = bare_page("one two three four\n\nfive six\n\n\nseven eight nine ten\n")
    bodies = [chunk.body for chunk in FixedChunker(32, 10).chunk(page)]
    assert bodies == [
        "one two three four\n\nfive six",
        "six\n\nseven eight nine ten",
    ]


def test_long_paragraphs_end_at_lines_then_sentences_then_anywhere() -> None:
    lines = bare_page("aaa bbb\nccc ddd\neee")
    assert [c.body for c in FixedChunker(10, 0).chunk(lines)] == [
        "aaa bbb",
        "ccc ddd",
        "eee",
    ]
    sentences = bare_page("Up. Down it goes")
    assert [c.body for c in FixedChunker(12, 0).chunk(sentences)] == ["Up. ", "Down it goes"]
    assert [c.body for c in FixedChunker(4, 0).chunk(bare_page("abcdefghij"))] == [
        "abcd",
        "efgh",
        "ij",
    ]


def test_a_passage_is_labelled_where_its_own_text_starts() -> None:
    text = "Intro words.\n\n# Lock\n\n" + "w " * 24 + "\n\n## Gate\n\nOpens."
    chunks = FixedChunker(60, 10).chunk(page_of(text))
    assert chunks[0].section is None and chunks[0].anchor is None
    last = chunks[-1]
    assert (last.section, last.anchor) == ("Gate", "gate")
    assert last.ref == f"/guide/quay#c{last.start_char}"
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert {chunk.breadcrumb for chunk in chunks} == {""}


def test_a_page_without_text_gives_no_passage() -> None:
    assert FixedChunker().chunk(page_of("---\ntitle: T\n---\n")) == ()


TEXTS = st.lists(
    st.sampled_from(
        ["word ", "End. ", "\n", "\n\n", "  ", "\t", "\x1f", "\u3000", "潮" * 9, "x" * 40]
    )
).map("".join)


@given(TEXTS, st.integers(1, 60), st.data())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_every_visible_character_is_in_exactly_one_passage(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    chunks = FixedChunker(size, overlap).chunk(bare_page(text))
    own = "".join(text[chunk.start_char : chunk.end_char] for chunk in chunks)
    assert own.split() == text.split() or "".join(own.split()) == "".join(text.split())
    assert len({chunk.ref for chunk in chunks}) == len(chunks)
    assert all(len(chunk.body) <= size + 2 for chunk in chunks)
    assert all(chunk.body.strip() for chunk in chunks)


@pytest.mark.parametrize(
    ("size", "overlap"), [(800, 100), (400, 0), (400, 40), (50, 25), (50, 26), (50, 49)]
)
def test_one_giant_line_takes_linear_time_and_bounded_passages(size: int, overlap: int) -> None:
    raw = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(2950))
    line = "START " + base64.b32encode(raw).decode().rstrip("=") + " FINISH"
    started = time.process_time()
    page = page_of(f"# Line\n\n{line}\n")
    chunks = FixedChunker(size, overlap).chunk(page)
    assert time.process_time() - started < 3
    assert len(chunks) <= math.ceil(len(page.text) / (size - overlap)) + 2
    own = "".join(page.text[chunk.start_char : chunk.end_char] for chunk in chunks)
    assert own.replace(" ", "").endswith("FINISH") and line.replace(" ", "") in own.replace(" ", "")


@pytest.mark.corpus
@pytest.mark.parametrize(("size", "overlap"), [(800, 100), (400, 40), (50, 26), (50, 49)])
def test_field_case_of_giant_lines_comes_out_right(
    cases_dir: Path, tmp_path: Path, size: int, overlap: int
) -> None:
    subprocess.run([sys.executable, str(cases_dir / "B21" / "make.py"), str(tmp_path)], check=True)
    pages = {path.name: page_of(path.read_text(), path.name) for path in tmp_path.glob("*.md")}
    chunks = {name: FixedChunker(size, overlap).chunk(page) for name, page in pages.items()}
    length = len(pages["one-line.md"].text)
    assert len(chunks["one-line.md"]) <= math.ceil(length / (size - overlap)) + 2
    assert "AFTER"[-1] in chunks["data-uri.md"][-1].body
    if overlap < 49:
        assert len(chunks["data-uri.md"]) <= 3
    assert all(len(chunk.body) <= size + 2 for made in chunks.values() for chunk in made)


_FORMATTING = "figure|figcaption|sup|a|span|i|div|br|p|b|em|strong"
_FORMATTING_TAG = re.compile(rf"</?(?:{_FORMATTING})\b[^>]*>")


def _as_the_reference_reads(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if text.startswith("---\n"):
        text = text[text.index("\n---\n", 3) + 5 :]
    return _FORMATTING_TAG.sub("", re.sub(r"(?s)<svg\b.*?</svg>", "", text))


@pytest.mark.corpus
def test_the_reference_text_gives_the_reference_number_of_passages(corpus_site: Path) -> None:
    paths = [path for path in corpus_site.glob("*/*.md") if path.stem != "index"]
    pages = [bare_page(_as_the_reference_reads(path)) for path in paths]
    assert len(pages) == 97
    assert sum(len(FixedChunker().chunk(page)) for page in pages) == PASSAGES_OF_THE_REFERENCE


@pytest.mark.corpus
def test_the_site_as_parsed_gives_the_measured_number_of_passages(corpus_site: Path) -> None:
    total = 0
    for path in sorted(corpus_site.glob("*/*.md")):
        if path.stem != "index":
            name = path.relative_to(corpus_site).as_posix()
            total += len(FixedChunker().chunk(page_of(path.read_text(encoding="utf-8"), name)))
    assert total == PASSAGES_OF_THE_SITE
