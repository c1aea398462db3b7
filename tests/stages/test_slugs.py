"""Anchors by GitHub's rules; the expected values are what npm's github-slugger 2 gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragctl.stages.parse.slugs import GitHubSlugger, slug


@pytest.mark.parametrize(
    ("label", "anchor"),
    [
        ("The Lock Gate", "the-lock-gate"),
        ("a  b", "a--b"),
        ("read(2) & write(2)", "read2--write2"),
        ("foo_bar-baz", "foo_bar-baz"),
        ("What's new?", "whats-new"),
        ("C++ / C#", "c--c"),
        ("x² + ½", "x--"),
        ("ÀÉÎ ß", "àéî-ß"),
        ("İstanbul", "i̇stanbul"),
        ("ΟΔΟΣ", "οδος"),
        ("日本語 テスト", "日本語-テスト"),
        ("हिन्दी", "हिन्दी"),
        ("e\u0301", "e\u0301"),
        ("a\u00a0b", "ab"),
        ("dash – em — end", "dash--em--end"),
        ("Ⅷ ⅷ", "ⅷ-ⅷ"),
        ("Ⓐ 🅰", "ⓐ-🅰"),
        ("🚀 launch", "-launch"),
        ("!!!", ""),
    ],
)
def test_slugs_keep_letters_marks_digits_and_connectors(label: str, anchor: str) -> None:
    assert slug(label) == anchor


def test_duplicates_are_numbered_and_taken_numbers_skipped() -> None:
    slugger = GitHubSlugger()
    labels = ["setup", "setup", "setup-1", "setup", "Setup 1", "setup"]
    assert [slugger.slug(label) for label in labels] == [
        "setup",
        "setup-1",
        "setup-1-1",
        "setup-2",
        "setup-1-2",
        "setup-3",
    ]


def test_an_anchor_of_the_author_is_reserved_once() -> None:
    slugger = GitHubSlugger()
    assert slugger.take("gate") and not slugger.take("gate")
    assert slugger.slug("Gate") == "gate-1"


@given(st.lists(st.one_of(st.sampled_from(["a", "a 1", "a-1", "a-1-1", ""]), st.text(max_size=8))))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_all_anchors_of_a_page_differ(labels: list[str]) -> None:
    slugger = GitHubSlugger()
    anchors = [slugger.slug(label) for label in labels]
    assert len(set(anchors)) == len(anchors)
