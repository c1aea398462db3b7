"""Whatever the page, no chunker loses text, and each passage is found again by its reference."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from ragctl.audit.passages import audit_page
from ragctl.records.chunks import Chunk
from ragctl.records.pages import Page
from ragctl.stages.chunk.fixed import FixedChunker
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.chunk.tokens import estimated_tokens, fitting_end
from ragctl.stages.chunk.window import WindowChunker
from ragctl.stages.embed import embedded_text
from tests.fuzz.grammar import DOCUMENTS, INLINES, NAMES, WELL_FORMED
from tests.fuzz.pages import as_bytes, page_of, sliced, stored, without_blanks
from tests.fuzz.property import fuzzed, in_time

SIZES = st.sampled_from([1, 7, 40, 160, 1300])


@fuzzed(
    DOCUMENTS,
    NAMES,
    SIZES,
    st.sampled_from([64, 480]),
    st.sampled_from([0, 200]),
    runs=100,
    found=[
        ("> <svg>", "guide/a.txt", 1, 64, 0),
        ("`" * 31, "guide/a.mdx", 160, 64, 0),
        ("~" * 400, "guide/a.md", 1300, 64, 0),
    ],
)
def test_structured_passages_hold_all_of_a_page_once(
    text: str, name: str, size: int, hard: int, small: int
) -> None:
    page = page_of(text, name)
    with in_time():
        passages = StructuredChunker(size, small=small, hard_tokens=hard).chunk(page)
    _assert_referred_to(page, passages)
    assert sliced(page, passages) == without_blanks(page.text)
    done = 0
    for passage in passages:
        assert done <= passage.start_char
        done = passage.end_char
        assert page.text[passage.start_char : passage.end_char] in passage.body
        assert estimated_tokens(embedded_text(passage)) + 2 <= hard


@fuzzed(WELL_FORMED, st.just("guide/a.md"), runs=80)
def test_the_audit_finds_no_text_that_structured_passages_lost(text: str, name: str) -> None:
    page = page_of(text, name)
    passages = StructuredChunker().chunk(page)
    with in_time():
        audit = audit_page(stored(page), passages, source=as_bytes(text), size=1300)
    kinds = {"lost_lines", "bad_refs", "duplicate_refs", "duplicate_anchors"}
    assert not [finding for finding in audit.findings if finding.kind in kinds]


@fuzzed(DOCUMENTS, NAMES, SIZES, st.integers(0, 100), runs=60)
def test_fixed_passages_hold_all_of_a_page(text: str, name: str, size: int, overlap: int) -> None:
    page = page_of(text, name)
    chunker = FixedChunker(size, min(overlap, size - 1))
    with in_time():
        passages = chunker.chunk(page)
    _assert_referred_to(page, passages)
    assert sliced(page, passages) == without_blanks(page.text)
    assert all(len(passage.body) <= size + 2 for passage in passages)


@fuzzed(DOCUMENTS, NAMES, SIZES, st.integers(0, 20), runs=60)
def test_windows_hold_all_of_a_page(text: str, name: str, size: int, overlap: int) -> None:
    page = page_of(text, name)
    chunker = WindowChunker(size, min(overlap, size - 1))
    with in_time():
        passages = chunker.chunk(page)
    _assert_referred_to(page, passages)
    covered: set[int] = set()
    for passage in passages:
        assert passage.body == page.text[passage.start_char : passage.end_char]
        covered.update(range(passage.start_char, passage.end_char))
    missing = [n for n, character in enumerate(page.text) if character.strip() and n not in covered]
    assert not missing


@fuzzed(INLINES, st.integers(1, 60), runs=60)
def test_a_fitting_end_is_one_that_fits(text: str, tokens: int) -> None:
    end = fitting_end(text, 0, len(text), tokens) if text else 0
    assert end == len(text) == 0 or 1 <= end <= len(text)
    assert end <= 1 or estimated_tokens(text[:end]) <= tokens


def _assert_referred_to(page: Page, passages: tuple[Chunk, ...]) -> None:
    assert [passage.position for passage in passages] == list(range(len(passages)))
    assert len({passage.ref for passage in passages}) == len(passages)
    for passage in passages:
        found = re.fullmatch(r"(.*)#c(\d+)", passage.ref)
        assert found and found[1] == page.url and int(found[2]) == passage.start_char
        assert 0 <= passage.start_char < passage.end_char <= len(page.text)
        assert passage.body.strip()
