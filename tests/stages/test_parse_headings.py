"""Parsing: headings, their labels, their anchors and where they stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragctl.records.pages import Page, SourceFile
from ragctl.stages.parse import parse


def page_of(text: str | bytes, name: str = "locks.md") -> Page:
    data = text if isinstance(text, bytes) else text.encode()
    source = SourceFile(
        path=name,
        absolute=Path(name),
        url="/" + name.rpartition(".")[0],
        track="root",
        is_landing=False,
        size_bytes=len(data),
        mtime_ns=0,
    )
    return parse(source, data)


def outline(page: Page) -> list[tuple[int, str, str]]:
    return [(heading.level, heading.label, heading.anchor) for heading in page.headings]


def test_underlined_headings_become_one_line_with_marks() -> None:
    page = page_of("Lock\n====\n\nA.\n\nTwo line\nlabel here\n---\n\nB.")
    assert page.text == "# Lock\n\nA.\n\n## Two line label here\n\nB."
    assert outline(page) == [(1, "Lock", "lock"), (2, "Two line label here", "two-line-label-here")]
    assert [(r.first_line, r.last_line, r.kind) for r in page.removals] == [
        (2, 2, "underline"),
        (7, 8, "underline"),
    ]
    assert [heading.line for heading in page.headings] == [1, 6]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("> Gate\n> ---\n> text", "> ## Gate\n> text"),
        ("> Upper\n> gate\n> ===", "> # Upper gate"),
        ("- Gate\n  ---\n  text", "- ## Gate\n  text"),
    ],
)
def test_underlined_headings_inside_containers_keep_their_prefix(written: str, read: str) -> None:
    assert page_of(written).text == read


@pytest.mark.parametrize(
    "text",
    [
        "- item\n\n---\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n",
        "para\n\n---\n",
        "```\n# code\n```\n",
        "    # indented\n",
        "#hashtag\n",
        "\\# escaped\n",
        "<!-- \n# comment\n-->\ntext",
        "####### seven\n",
    ],
)
def test_what_is_no_heading_gives_none(text: str) -> None:
    assert not page_of(text).headings


@pytest.mark.parametrize(
    ("written", "label", "anchor"),
    [
        ("Using `read()` *well*", "Using read() well", "using-read-well"),
        ('The [gate](x.md "t") <b>up</b>', "The gate up", "the-gate-up"),
        ("See ![a picture](p.png)", "See a picture", "see-a-picture"),
        ("A &amp; B", "A & B", "a--b"),
        ("snake_case name", "snake_case name", "snake_case-name"),
        ("Größe & Maß", "Größe & Maß", "größe--maß"),
        ("潮汐 表", "潮汐 表", "潮汐-表"),
        ("Go 🚀 now", "Go 🚀 now", "go--now"),
        ("1. C++ \\*raw\\*", "1. C++ *raw*", "1-c-raw"),
        ("Closed ##", "Closed", "closed"),
        ("Trailing C#", "Trailing C#", "trailing-c"),
        ("The [gate][g]", "The gate", "the-gate"),
        ("`Vec<u8>` and ~~old~~", "Vec<u8> and old", "vecu8-and-old"),
        ("Mooring {#Own_Id}", "Mooring", "Own_Id"),
        ("Mooring {#own .wide key=1} ##", "Mooring", "own"),
        ("Mooring ## { #own }", "Mooring", "own"),
        ('Mooring {id="own"}', "Mooring", "own"),
        ("Mooring {/* #own */}", "Mooring", "own"),
        ("Mooring {: #own}", "Mooring", "own"),
        ("Range {a, b}", "Range {a, b}", "range-a-b"),
        ("Wide {.wide}", "Wide {.wide}", "wide-wide"),
        ("Code `{#x}`", "Code {#x}", "code-x"),
        ("Toc {data-toc-label='Set {x}'}", "Toc", "toc"),
    ],
)
def test_labels_are_for_people_and_anchors_are_githubs(
    written: str, label: str, anchor: str
) -> None:
    page = page_of(f"## {written}\n\ntext\n\n[g]: https://x.test\n")
    assert outline(page) == [(2, label, anchor)]


def test_an_identifier_on_a_line_of_its_own_belongs_to_the_heading_above() -> None:
    page = page_of("## Mooring\n{: #own .x}\n\ntext")
    assert outline(page) == [(2, "Mooring", "own")]
    assert "{:" not in page.text


def test_an_identifier_used_twice_is_reported_and_stays_unique() -> None:
    page = page_of("# A {#x}\n\n# B {#x}\n")
    assert outline(page) == [(1, "A", "x"), (1, "B", "b")]
    assert page.warnings == ("locks.md:3: anchor #x is used by an earlier heading",)


def test_equal_headings_are_numbered_past_those_already_taken() -> None:
    page = page_of("# Gate\n\n# Gate 1\n\n```\n# Gate\n```\n\n# Gate\n\n# Gate\n")
    assert [anchor for _, _, anchor in outline(page)] == ["gate", "gate-1", "gate-2", "gate-3"]


def test_headings_point_at_their_line_in_the_text_after_removals() -> None:
    page = page_of(
        "---\ntitle: T\n---\n<div>\n\n<svg>\n\n</svg>\n\n# One\n\n<!-- x -->\n\n## Two\n"
    )
    assert [page.text[h.start_char :].split("\n")[0] for h in page.headings] == ["# One", "## Two"]
    assert [heading.line for heading in page.headings] == [10, 14]


def test_an_empty_heading_is_no_section() -> None:
    assert outline(page_of("#\n\n## {#x}\n\ntext")) == []


def _case(cases_dir: Path, case: str) -> dict[str, Page]:
    files = sorted((cases_dir / case / "input").glob("*.md"))
    return {file.name: page_of(file.read_bytes(), file.name) for file in files}


@pytest.mark.corpus
def test_field_cases_of_front_matter_come_out_right(cases_dir: Path) -> None:
    pages = _case(cases_dir, "B01") | _case(cases_dir, "B02") | _case(cases_dir, "B03")
    titles = {name: page.title for name, page in pages.items()}
    assert titles == {
        "bom.md": "Night watch rota",
        "crlf.md": "Quay lights",
        "bom-crlf-blanks.md": "Fog signal",
        "eof.md": "Empty berth",
        "inside-value.md": "Ebb --- flow, a study",
        "no-metadata.md": "Pontoon checks",
        "rule-first.md": "rule-first",
        "prose-between-rules.md": "prose-between-rules",
        "pilots.md": "Harbour: pilots & tugs",
        "broken.md": "Tug horn code",
    }
    assert pages["eof.md"].text == ""
    assert "```sh\nlights --sector red\n```" in pages["crlf.md"].text
    assert not any(mark in page.text for page in pages.values() for mark in ("author:", "weight:"))
    repaired = {name: len(page.warnings) for name, page in _case(cases_dir, "B04").items()}
    assert repaired.pop("good.md") == 0
    assert set(repaired.values()) == {1}


@pytest.mark.corpus
def test_field_cases_of_markup_come_out_right(cases_dir: Path) -> None:
    brackets = _case(cases_dir, "B09")["brackets.md"].text
    for kept in ("<linux/bpf.h>", "if (i<b && c>d)", "x<y>z", "`<b>raw</b>`", "line break"):
        assert kept in brackets
    assert "<kbd>" not in brackets and "<b>bold" not in brackets
    pages = _case(cases_dir, "B12")
    text = pages["page.md"].text + pages["hugo.md"].text
    for gone in ("@theme/Tabs", "style.css", "export const year", "<Tab", "{{% notice", "{{< fig"):
        assert gone not in text
    for kept in (
        "Import duties",
        "export licences",
        "Crates over",
        "import os",
        "keep-this-sample",
    ):
        assert kept in text
    assert "Heavy load" in text and "Literal braces are rare." in text


@pytest.mark.corpus
def test_field_cases_of_headings_come_out_right(cases_dir: Path) -> None:
    assert [label for _, label, _ in outline(_case(cases_dir, "B07")["setext.md"])] == [
        "Dry dock manual",
        "Flooding the dock",
        "ATX heading",
        "Two line title of this part",
    ]
    numbered = {name: outline(page)[1:] for name, page in _case(cases_dir, "B14").items()}
    assert [anchor for *_, anchor in numbered["first.md"]] == [
        "setup",
        "setup-1",
        "setup-1-1",
        "setup-2",
    ]
    assert [anchor for *_, anchor in numbered["second.md"]] == ["setup-1", "setup", "setup-2"]
    own = outline(_case(cases_dir, "B16")["ids.md"])[1:]
    assert [anchor for *_, anchor in own] == [
        "mud",
        "Chain_Length",
        "brace-sample-not-an-id",
        "set-a-b",
        "scope",
        "under",
    ]
    holes = _case(cases_dir, "B35")["nul.md"]
    assert "\0" not in holes.text and "dropped at noon." in holes.text and holes.warnings
