"""Anchors by the rules of Hugo, Docusaurus and MkDocs.

The expected values are what the generators gave for one page with these headings: Hugo 0.168.0,
Hugo 0.111.3 (Debian 12), the headings plugin of @docusaurus/mdx-loader 3.10.2, and
Python-Markdown 3.11.3 with its own slugify and with slugify_unicode.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.protocols import Slugger, SourceSlugger
from ragctl.records.pages import SourceFile
from ragctl.stages.parse import parse
from ragctl.stages.parse.sluggers import SLUGGERS, DocusaurusSlugger

RULES = ("hugo", "hugo-source", "docusaurus", "mkdocs", "mkdocs-unicode")
GENERATED = (
    (
        "Rate limiter",
        "rate-limiter",
        "rate-limiter",
        "rate-limiter",
        "rate-limiter",
        "rate-limiter",
    ),
    ("a  b", "a--b", "a--b", "a--b", "a-b", "a-b"),
    ("Fog & rain", "fog--rain", "fog--rain", "fog--rain", "fog-rain", "fog-rain"),
    ("R&amp;D", "rd", "rampd", "rd", "rd", "rd"),
    ("What's new?", "whats-new", "whats-new", "whats-new", "whats-new", "whats-new"),
    ("C++ / C#", "c--c", "c--c", "c--c", "c-c", "c-c"),
    ("`--flag` -- why", "--flag--why", "--flag----why", "--flag----why", "-flag-why", "-flag-why"),
    ("one --- two", "one--two", "one-----two", "one-----two", "one-two", "one-two"),
    ("a – b", "a--b-1", "a--b-1", "a--b-1", "a-b_1", "a-b_1"),
    ("Größe ß", "größe-ß", "größe-ß", "größe-ß", "groe", "größe-ß"),
    ("İstanbul", "istanbul", "istanbul", "i̇stanbul", "istanbul", "i̇stanbul"),
    ("ΟΔΟΣ", "οδοσ", "οδοσ", "οδος", "_1", "οδος"),
    ("日本語 テスト", "日本語-テスト", "日本語-テスト", "日本語-テスト", "_2", "日本語-テスト"),
    ("हिन्दी", "हनद", "हनद", "हिन्दी", "_3", "हनद"),
    ("x² + ½", "x--", "x--", "x--", "x2-12", "x²-½"),
    ("Ⅷ", "heading", "heading", "ⅷ", "viii", "ⅷ"),
    ("🚀 launch", "-launch", "-launch", "-launch", "launch", "launch"),
    ("!!!", "heading-1", "heading-1", "", "_4", "_1"),
    ("1. Start", "1-start", "1-start", "1-start", "1-start", "1-start"),
    ("v1.2.3", "v123", "v123", "v123", "v123", "v123"),
    (
        "_emph_ and a_b",
        "emph-and-a_b",
        "_emph_-and-a_b",
        "emph-and-a_b",
        "emph-and-a_b",
        "emph-and-a_b",
    ),
    ("[link](/a/b) text", "link-text", "linkab-text", "link-text", "link-text", "link-text"),
    (
        "<https://e.example> address",
        "address",
        "httpseexample-address",
        "httpseexample-address",
        "httpseexample-address",
        "httpseexample-address",
    ),
    (
        "![Alt](i.png) picture",
        "alt-picture",
        "altipng-picture",
        "alt-picture",
        "picture",
        "picture",
    ),
    ("`Vec<u8>`", "vecu8", "vecu8", "vecu8", "vecu8", "vecu8"),
    ("\\_x\\_", "_x_", "_x_", "_x_", "_x_", "_x_"),
    ("- dash -", "--dash--", "--dash--", "--dash--", "-dash-", "-dash-"),
    ("Setup", "setup", "setup", "setup", "setup", "setup"),
    ("Setup", "setup-1", "setup-1", "setup-1", "setup_1", "setup_1"),
    ("Setup 1", "setup-1-1", "setup-1-1", "setup-1-1", "setup-1", "setup-1"),
    ("setup-1", "setup-1-2", "setup-1-2", "setup-1-2", "setup-1_1", "setup-1_1"),
    ("Setup", "setup-2", "setup-2", "setup-2", "setup_2", "setup_2"),
    ("setup_1", "setup_1", "setup_1", "setup_1", "setup_3", "setup_3"),
    ("Setup", "setup-3", "setup-3", "setup-3", "setup_4", "setup_4"),
)


def anchors(text: str, rule: str) -> list[str]:
    source = SourceFile(
        path="page.md",
        absolute=Path("page.md"),
        url="/page",
        track="root",
        is_landing=False,
        size_bytes=0,
        mtime_ns=0,
    )
    return [
        heading.anchor for heading in parse(source, text.encode(), slugger=SLUGGERS[rule]).headings
    ]


@pytest.mark.parametrize(("column", "rule"), list(enumerate(RULES, start=1)))
def test_headings_get_the_anchors_that_the_generator_gave_them(column: int, rule: str) -> None:
    page = "\n\ntext\n\n".join(f"## {case[0]}" for case in GENERATED)
    assert anchors(page, rule) == [case[column] for case in GENERATED]


def test_of_an_underlined_heading_hugo_takes_the_last_line() -> None:
    page = "Two lines\nof a `--heading`\n---\n"
    assert anchors(page, "hugo") == ["of-a---heading"]
    assert anchors(page, "hugo-source") == ["of-a---heading"]
    assert anchors(page, "github") == ["two-lines-of-a---heading"]


def test_anchors_of_the_author_stay_outside_of_docusaurus_s_numbering() -> None:
    assert anchors("## A {#gate}\n\n## Gate\n\n## Gate\n", "docusaurus") == [
        "gate",
        "gate",
        "gate-1",
    ]
    assert anchors("## A {#gate}\n\n## Gate\n\n## Gate\n", "hugo") == ["gate", "gate-1", "gate-2"]
    assert anchors("## A {#gate}\n\n## Gate\n\n## Gate\n", "mkdocs") == ["gate", "gate_1", "gate_2"]


def test_an_attribute_block_has_no_part_in_the_anchor_of_the_source() -> None:
    assert anchors("## [Gate](/g) {.wide}\n", "hugo-source") == ["gateg"]


HEADINGS = st.lists(
    st.one_of(
        st.sampled_from(["a", "a 1", "a-1", "a_1", "`--x`", "b -- c", "<https://e.example>", "!"]),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=12),
    ),
    max_size=12,
)


@given(HEADINGS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_no_rule_hands_out_an_anchor_twice_or_one_with_a_blank(labels: list[str]) -> None:
    for rule, make in SLUGGERS.items():
        slugger: Slugger = make()
        made = [
            slugger.slug_source(label, label)
            if isinstance(slugger, SourceSlugger)
            else slugger.slug(label)
            for label in labels
        ]
        assert len(set(made)) == len(made), rule
        assert not any(re.search(r"[ \t\n]", anchor) for anchor in made), rule
        assert slugger.take("never before") and not slugger.take("never before"), rule


@given(HEADINGS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_mkdocs_rules_are_those_of_the_python_markdown_that_is_installed(labels: list[str]) -> None:
    toc = pytest.importorskip("markdown.extensions.toc", exc_type=ImportError)
    for rule, slugify in (("mkdocs", toc.slugify), ("mkdocs-unicode", toc.slugify_unicode)):
        slugger, taken = SLUGGERS[rule](), set[str]()
        for label in labels:
            assert slugger.slug(label) == toc.unique(slugify(label, "-"), taken)


def test_docusaurus_numbers_as_github_does() -> None:
    slugger = DocusaurusSlugger()
    assert [slugger.slug(label) for label in ("a", "a", "a-1", "a")] == ["a", "a-1", "a-1-1", "a-2"]
