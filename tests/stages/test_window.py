"""The window chunker: fixed windows whose references lead back to the text."""

from __future__ import annotations

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
from ragctl.records.pages import Page
from ragctl.stages.chunk.tokens import token_spans
from ragctl.stages.chunk.window import WindowChunker
from tests.stages.test_structured import page_of


def bare_page(text: str) -> Page:
    return replace(page_of("x"), text=text, headings=())


@pytest.mark.parametrize(("size", "overlap"), [(50, 50), (50, 80), (0, 0), (-5, 0), (10, -1)])
def test_sizes_that_cannot_work_are_refused_naming_both(size: int, overlap: int) -> None:
    with pytest.raises(SettingsError) as caught:
        WindowChunker(size, overlap)
    assert str(size) in caught.value.message and str(overlap) in caught.value.message
    assert "\n" not in caught.value.message


def test_it_is_a_chunker_with_a_name_and_parameters() -> None:
    chunker: Chunker = WindowChunker()
    assert chunker.name == "window"
    assert chunker.parameters == {"size": 400, "overlap": 0, "counter": "estimate/1"}


def test_a_window_starts_every_step_and_is_exactly_its_slice() -> None:
    page = bare_page("one two six ten\n\n  red sea, old")
    chunks = WindowChunker(4, 1).chunk(page)
    assert [chunk.body for chunk in chunks] == ["one two six ten", "ten\n\n  red sea,", ", old"]
    assert [chunk.ref for chunk in chunks] == [
        "/guide/quay#c0",
        "/guide/quay#c12",
        "/guide/quay#c26",
    ]


def test_a_window_is_labelled_where_it_starts() -> None:
    page = page_of("Intro words.\n\n# Lock\n\n" + "sea " * 20)
    chunks = WindowChunker(8).chunk(page)
    assert chunks[0].section is None and chunks[0].anchor is None
    assert (chunks[-1].section, chunks[-1].anchor) == ("Lock", "lock")
    assert {chunk.breadcrumb for chunk in chunks} == {""}
    assert WindowChunker().chunk(page_of("")) == ()


TEXTS = st.lists(
    st.sampled_from(["word ", "Ends. ", "\n", "\n\n", " " * 20, "\x1f", "潮" * 9, "각", "x1" * 20])
).map("".join)


@given(TEXTS, st.integers(1, 60), st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_windows_hold_all_that_is_visible(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    page = bare_page(text)
    chunks = WindowChunker(size, overlap).chunk(page)
    covered = {place for c in chunks for place in range(c.start_char, c.end_char)}
    assert covered.issuperset(place for place, char in enumerate(text) if not char.isspace())
    for chunk in chunks:
        assert chunk.body == text[chunk.start_char : chunk.end_char]
        assert chunk.ref == f"{page.url}#c{chunk.start_char}"
    assert len({chunk.ref for chunk in chunks}) == len(chunks)
    assert len(chunks) <= -(-len(token_spans(text)) // (size - overlap))


@pytest.mark.corpus
@pytest.mark.parametrize(("size", "overlap"), [(400, 0), (400, 40), (50, 25), (50, 26)])
def test_field_case_of_giant_lines_comes_out_right(
    cases_dir: Path, tmp_path: Path, size: int, overlap: int
) -> None:
    subprocess.run([sys.executable, str(cases_dir / "B21" / "make.py"), str(tmp_path)], check=True)
    started = time.process_time()
    for path in tmp_path.glob("*.md"):
        page = page_of(path.read_text(), path.name)
        chunks = WindowChunker(size, overlap).chunk(page)
        assert len(chunks) <= -(-len(page.text) // (size - overlap)) + 2
        assert all(len(chunk.body) <= 16 * size for chunk in chunks)
    assert time.process_time() - started < 10
