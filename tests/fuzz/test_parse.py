"""Any page becomes text whose every line can be traced; what is lost is lost for a reason."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from ragctl.audit.passages import audit_page
from ragctl.records.pages import Page
from ragctl.stages.parse.sluggers import SLUGGERS
from tests.fuzz.grammar import DOCUMENTS, INLINES, NAMES, NESTED, ODD_CHARACTERS, WELL_FORMED
from tests.fuzz.pages import as_bytes, page_of, stored
from tests.fuzz.property import fuzzed, in_time


@fuzzed(DOCUMENTS, NAMES, runs=120)
def test_every_line_of_a_page_is_in_its_text_or_in_a_removal(text: str, name: str) -> None:
    with in_time():
        page = page_of(text, name)
    lines = _lines_of(text)
    held = set(page.source_lines)
    for removal in page.removals:
        assert 1 <= removal.first_line <= removal.last_line <= lines
        held.update(range(removal.first_line, removal.last_line + 1))
    assert held == set(range(1, lines + 1))
    assert len(page.source_lines) == (page.text.count("\n") + 1 if page.text else 0)
    assert list(page.source_lines) == sorted(page.source_lines)
    _assert_storable(page)
    assert page_of(text, name) == page


@fuzzed(
    WELL_FORMED,
    st.sampled_from(["guide/a.md", "guide/a.txt"]),
    runs=80,
    found=[
        ("\n\n\0\0", "guide/a.md"),
        ("export const a = (\n\n} from 'b'\n)", "guide/a.mdx"),
        ("!!! note <!-- a --><!-- b -->", "guide/a.md"),
    ],
)
def test_the_audit_sees_a_reason_for_every_line_that_is_gone(text: str, name: str) -> None:
    page = page_of(text, name)
    with in_time():
        audit = audit_page(stored(page), (), source=as_bytes(text), size=1300)
    assert audit.source == "compared"
    lost = [one for one in audit.findings if "not in the page's text" in one.why]
    assert not lost


PARTS = st.lists(NESTED, min_size=1, max_size=5)
_HIDES = (  # what may hold whole paragraphs that are not read, from mark to mark
    ("<!--", "-->"), ("{/*", "*/"), ("<svg", "</svg"), ("<script", "</script"),
    ("<style", "</style"), ("{% comment", "endcomment"), ("{{<", ">}}"), ("{{%", "%}}"), ("{%",
    "%}"),
    ("import", "from"), ("export", ""), ("={", "}"), ("{a", "}"), ("{b", "}"), ("<Box a", ">"),
)  # fmt: skip


@fuzzed(
    PARTS,
    NAMES,
    runs=120,
    found=[(["<svg", ">"], "guide/a.md"), (["<script", "<b>"], "guide/a.md")],
)
def test_a_paragraph_is_lost_only_between_marks_that_hide_it(parts: list[str], name: str) -> None:
    written = [f"\n\nparagraph{n}kept\n\n" for n in range(len(parts))]
    text = "".join(f"{part}{paragraph}" for part, paragraph in zip(parts, written, strict=True))
    kept = page_of(text, name).text
    for n in range(len(parts)):
        if f"paragraph{n}kept" in kept:
            continue
        before, _, behind = text.partition(f"paragraph{n}kept")
        assert any(first in before.lower() and last in behind.lower() for first, last in _HIDES)


@fuzzed(DOCUMENTS, NAMES, runs=80)
def test_headings_stand_where_they_say_and_each_has_its_own_anchor(text: str, name: str) -> None:
    page = page_of(text, name)
    anchors = [heading.anchor for heading in page.headings]
    assert len(set(anchors)) == len(anchors)
    for heading in page.headings:
        assert heading.label and "\n" not in heading.label
        assert heading.start_char == 0 or page.text[heading.start_char - 1] == "\n"
        line = page.text.count("\n", 0, heading.start_char)
        assert page.source_lines[line] == heading.line


TEXT_ALONE = st.lists(
    st.one_of(
        st.sampled_from(
            ["# a", "```", "~~~", "> a", "- b", "    c", "| d | e |", "|---|---|", "", "**f** g",
             "`h`", "[i](j)", "[k]: l", "1. m", "\t- n", "***", "\\o", "p\\", "``` q", "r  ",
             "> - s",
             "潮汐。", "i<b && c>d", "Vec<u8>", "<linux/bpf.h>"]
        ),
        st.sampled_from(ODD_CHARACTERS).map("x{}y\u00e9\u00e9".format),
    ),
    max_size=20,
).map("\n".join)  # fmt: skip


@fuzzed(TEXT_ALONE, runs=80)
def test_a_page_without_markup_to_remove_keeps_each_of_its_letters(text: str) -> None:
    kept = page_of(text).text
    assert _letters(kept) == _letters(_repaired(text))


@fuzzed(
    st.lists(st.one_of(INLINES, st.sampled_from(["a", "a-1", "a_1", "", "-", "A b"])), max_size=8),
    st.sampled_from(sorted(SLUGGERS)),
    runs=80,
)
def test_no_rule_hands_out_an_anchor_twice(labels: list[str], rule: str) -> None:
    slugger = SLUGGERS[rule]()
    with in_time():
        anchors = [slugger.slug(label[:1000]) for label in labels]
    assert len(set(anchors)) == len(anchors)
    assert not any(re.search(r"\s", anchor) for anchor in anchors if rule != "github")


def _lines_of(text: str) -> int:
    clean = text.replace("\r\n", "\n").replace("\r", "\n")
    return clean.removesuffix("\n").count("\n") + 1


def _assert_storable(page: Page) -> None:
    page.text.encode("utf-8")
    page.title.encode("utf-8")
    assert page.title
    assert not {"\0", "\r", "\ufeff"} & set(page.text)


def _repaired(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())
