"""Parsing: front matter, titles, drafts and reading order."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ragctl.records.pages import Page, SourceFile
from ragctl.stages.parse import parse


def page_of(text: str, path: str = "guide/quay.md") -> Page:
    source = SourceFile(
        path=path,
        absolute=Path(path),
        url="/" + path,
        track="guide",
        is_landing=False,
        size_bytes=len(text),
        mtime_ns=0,
    )
    return parse(source, text.encode())


@pytest.mark.parametrize(
    "head",
    [
        "---\ntitle: Locks\n---\n",
        "---  \ntitle: Locks\n...\t\n",
        "---\r\ntitle: Locks\r\n---\r\n",
        "\ufeff---\ntitle: 'Locks'\n---\n",
        '+++\ntitle = "Locks"\n+++\n',
        '---\nnote: |\n  a\n  ---\n  b\ntitle: "Locks"\n---\n',
    ],
)
def test_front_matter_in_any_dress_gives_the_title_and_no_text(head: str) -> None:
    page = page_of(head + "\n# Heading\n\nText.\n")
    assert page.title == "Locks"
    assert page.text == "# Heading\n\nText."
    assert not page.warnings


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nOnly a rule.\n\nDepth: two metres.",
        "---\n\nProse between rules\n\n---\n\nMore.",
        "Text.\n\n---\n\nKey: value\n\n---\n\nEnd.",
        "\n---\ntitle: Not on line 1\n\n---\n",
        "+++ a plus line\n\nText.",
        "---\nDepth: two metres\n\nText.",
    ],
)
def test_rules_that_are_no_front_matter_are_text(text: str) -> None:
    page = page_of(text)
    assert page.text.replace("## ", "").split() == [w for w in text.split() if w]
    assert not page.front_matter and not page.warnings


@pytest.mark.parametrize(
    ("head", "title", "line"),
    [
        ("title: Ropes: a guide\nweight: 2", "Ropes: a guide", 2),
        ("title: Ropes\nwhen: 2031-99-01", "Ropes", 3),
        ("title: Ropes\nmap:\n\tx: 1", "Ropes", 4),
        ("title: *Ropes* here", "*Ropes* here", 2),
        ("title: Ropes\nx: !unknown y", "Ropes", 3),
        ("title: Ropes\nx: [1, 2", "Ropes", 3),
        ("title: Ropes\nx: " + "[" * 5000, "Ropes", 3),
    ],
)
def test_broken_front_matter_keeps_title_and_text_and_warns(
    head: str, title: str, line: int
) -> None:
    page = page_of(f"---\n{head}\n---\n\n# Other\n\nText.\n")
    assert page.title == title
    assert page.text == "# Other\n\nText."
    assert len(page.warnings) == 1
    path, number, _ = page.warnings[0].split(":", 2)
    assert path == "guide/quay.md" and abs(int(number) - line) <= 1


def test_broken_toml_falls_back_to_the_heading_and_keeps_good_keys() -> None:
    page = page_of("+++\ntitle = Bare words\nweight = 3\n+++\n\n# Horn\n\nText.")
    assert (page.title, page.text) == ("Horn", "# Horn\n\nText.")
    assert page.front_matter == {"weight": 3}
    assert page.warnings[0].startswith("guide/quay.md:2: front matter is not TOML")


def test_unclosed_front_matter_ends_at_the_blank_line_even_if_a_rule_follows_later() -> None:
    for tail in ("Text here.", "Text here.\n\n---\n\nMore."):
        page = page_of(f"---\ntitle: Lost\n\n# Kept\n\n{tail}")
        assert page.title == "Lost"
        assert page.text == f"# Kept\n\n{tail}"
        assert page.warnings == ("guide/quay.md:1: front matter is never closed",)


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ("2024-09-13", "2024-09-13"),
        ("1.10", "1.10"),
        ("007", "007"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("~", "Heading"),
        ("[a, b]", "Heading"),
        (">\n  two\n  lines", "two lines"),
    ],
)
def test_titles_are_text_as_it_was_written(value: str, title: str) -> None:
    assert page_of(f"---\ntitle: {value}\n---\n# Heading\n").title == title


def test_front_matter_values_can_be_written_as_json() -> None:
    page = page_of(
        "---\nd: 2024-01-02\nt: 2024-01-02 03:04:05\nn: .nan\nb: yes\ns: !!set {a}\n1: x\n"
        "2024-01-02: y\nbin: !!binary aGk=\n---\n"
    )
    assert json.loads(json.dumps(page.front_matter, allow_nan=False))["d"] == "2024-01-02"


def test_aliases_that_multiply_stay_small() -> None:
    rows = ["a0: &a0 [x, x]"] + [
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)
    ]
    page = page_of("---\n" + "\n".join(rows) + "\n---\nText.")
    assert len(json.dumps(page.front_matter)) < 200_000


@pytest.mark.parametrize(
    ("text", "path", "title"),
    [
        ("## Second\n\n# First `code` & *em*\n", "a/b.md", "First code & em"),
        ("no heading", "a/03-knots.md", "03-knots"),
        ("no heading", "a/knots/index.md", "knots"),
        ("Title\n=====\n", "a/b.md", "Title"),
    ],
)
def test_the_title_falls_back_to_the_heading_then_to_the_name(
    text: str, path: str, title: str
) -> None:
    assert page_of(text, path).title == title


@pytest.mark.parametrize(
    ("head", "draft"),
    [("draft: true", True), ("published: false", True), ("draft: 'no'", False), ("x: 1", False)],
)
def test_drafts_are_marked(head: str, draft: bool) -> None:
    assert page_of(f"---\n{head}\n---\nText").is_draft is draft


def test_pages_sort_by_weight_then_date_then_number_then_name() -> None:
    assert page_of("---\nweight: 7\ndate: 2024-01-01\n---\n").order[0] == 7
    assert page_of("---\nsidebar_position: 1.5\n---\n").order[0] == 1.5
    assert page_of("---\ndate: 2024-01-01\n---\n").order[0] == 738886
    assert page_of("x", "guide/12-knots.md").order[0] == 12
    assert page_of("x", "guide/2024-01-01-log.md").order[0] == 738886
    assert page_of("x", "guide/knots.md").order[0] == math.inf
    names = ["guide/part10.md", "guide/Part2.md", "guide/part1.md"]
    assert sorted(names, key=lambda name: page_of("x", name).order) == names[::-1]


def test_pages_of_a_subfolder_stay_together() -> None:
    names = ["guide/10-c.md", "guide/2-b/1-x.md", "guide/1-a/2-y.md", "guide/1-a/1-x.md"]
    assert sorted(names, key=lambda name: page_of("x", name).order) == names[::-1]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        (r'"nul \0 inside"', "nul \ufffd inside"),
        (r'"\e[31mred"', "\x1b[31mred"),
        ("12:30", "12:30"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
    ],
)
def test_escapes_and_odd_numbers_of_yaml_give_a_title_that_can_be_stored(
    written: str, title: str
) -> None:
    page = page_of(f"---\ntitle: {written}\n---\nText.\n")
    assert page.title == title
    assert len(page.warnings) == title.count("\ufffd")


def test_values_and_keys_of_front_matter_hold_nothing_that_cannot_be_stored() -> None:
    page = page_of('---\nlist: [{"a\\0": "\\0"}, 1]\n---\nText.\n')
    assert page.front_matter == {"list": [{"a\ufffd": "\ufffd"}, 1]}


def test_half_a_surrogate_pair_in_front_matter_is_told_and_never_kept() -> None:
    page = page_of('---\ntitle: "half \\ud83d pair"\n---\nText.\n')
    assert len(page.warnings) == 1
    assert page.title.encode()
