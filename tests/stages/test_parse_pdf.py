"""PDF files as pages: a page of the file is a section; what yields nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.files import find
from ragctl.records.pages import Page, SourceFile
from ragctl.stages.chunk.structured import StructuredChunker
from ragctl.stages.links import page_link
from ragctl.stages.parse import MarkdownParser
from tests.pdf import make_pdf


def _parsed(data: bytes) -> Page:
    source = SourceFile(
        path="design/paper.pdf",
        absolute=Path("/x/design/paper.pdf"),
        url="/design/paper.pdf",
        track="design",
        is_landing=False,
        size_bytes=len(data),
        mtime_ns=1,
    )
    return MarkdownParser().parse(source, data)


def test_a_page_of_the_file_is_a_section_that_opens_there() -> None:
    page = _parsed(make_pdf(["A queue holds work.", "A lock has one holder."], title="The paper"))
    assert page.title == "The paper"
    assert [(heading.label, heading.anchor) for heading in page.headings] == [
        ("Page 1", "page=1"),
        ("Page 2", "page=2"),
    ]
    first, second = StructuredChunker(small=0).chunk(page)
    assert "A queue holds work." in first.body
    assert (second.section, second.anchor) == ("Page 2", "page=2")
    link = page_link(second.url, second.anchor, base_url="https://s.example", style="slash")
    assert link == "https://s.example/design/paper.pdf#page=2"
    line = page.text[: second.start_char].count("\n")
    assert page.source_lines[line] == 2


def test_a_page_without_text_is_named() -> None:
    page = _parsed(make_pdf(["Words.", ""]))
    assert page.warnings == ("design/paper.pdf: no text on page 2 (a picture of text?)",)
    assert page.title == "paper"


def test_a_file_without_any_text_is_an_empty_page() -> None:
    assert _parsed(make_pdf(["", ""])).text == ""


@pytest.mark.parametrize("data", [b"", b"no pdf at all", b"%PDF-1.4\n%%EOF", b"\xff\xfe" * 50])
def test_what_is_no_pdf_is_reported_and_not_raised(data: bytes) -> None:
    page = _parsed(data)
    assert page.text == ""
    assert "cannot be read" in page.warnings[0]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 900), st.binary(max_size=20))
def test_a_damaged_file_raises_nothing(place: int, damage: bytes) -> None:
    whole = make_pdf(["One page.", "Another."])
    _parsed(whole[:place] + damage + whole[place + len(damage) :])


def test_pdf_files_keep_their_suffix_in_the_address(tmp_path: Path) -> None:
    (tmp_path / "design").mkdir()
    (tmp_path / "design/paper.pdf").write_bytes(make_pdf(["Text."]))
    (tmp_path / "design/paper.md").write_text("Text.")
    urls = [source.url for source in find(tmp_path).sources]
    assert urls == ["/design/paper", "/design/paper.pdf"]


def test_without_the_extra_a_pdf_is_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragctl.files.importlib.util.find_spec", lambda _name: None)
    (tmp_path / "a.md").write_text("Text.")
    (tmp_path / "paper.pdf").write_bytes(make_pdf(["Text."]))
    (left,) = find(tmp_path).left_out
    assert (left.path, left.intended) == ("paper.pdf", True)
    assert "extra pdf" in left.reason
