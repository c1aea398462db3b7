"""Prompt templates: places are filled once, what is wrong is named, what ships is versioned."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from ragctl.errors import SettingsError
from ragctl.prompts import LONGEST_FILE_BYTES, SHIPPED, read_template, shipped
from ragctl.records.search import Hit
from ragctl.stages.render import render
from ragctl.stages.template import Template, template_of

TEXT = "Rules.\n{passages}\nQ: {question}\n"


def _template(text: str) -> Template:
    return template_of(text, name="t/1", source="the prompt p.txt")


def _hit(body: str) -> Hit:
    return Hit(
        n=1,
        chunk_id=1,
        ref="/a#c0",
        url="/a",
        title="T",
        track="a",
        section=None,
        anchor=None,
        body=body,
        start_char=0,
        end_char=1,
        source_path="a.md",
        score=0.5,
        vector_score=0.5,
    )


def test_what_is_put_in_is_never_searched_for_places_again() -> None:
    hits = [_hit("Body with {question} and {site} and {passages}.")]
    prompt = render("Why {passages}?", hits, template=_template(TEXT), budget_tokens=900)
    assert prompt.text.count("Body with {question} and {site} and {passages}.") == 1
    assert prompt.text.endswith("Q: Why {passages}?")


def test_code_in_braces_stays_to_the_byte() -> None:
    code = 'struct x { int a; };\nf"{name!r:>{width}}" {} {0} {size} ${HOME} {"a": {"b": 1}}\n'
    filled = _template(code + TEXT).filled(passages="P", question="Q", site="")
    assert filled == f"{code}Rules.\nP\nQ: Q"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Rules. {question}", "lacks {passages}"),
        ("Rules. {passages}", "lacks {question}"),
        ("{passages} {question} {question}", "{question} 2 times"),
        ("{passages} {question} {site}{site}", "{site} 2 times"),
        ("{passages} {question} {Question}", "unknown place {Question}"),
        ("{passages} {question} {passage}", "unknown place {passage}"),
        ("{{passages}} {question}", "unknown place {{passages}}"),
        ("{ passages } {question}", "unknown place { passages }"),
        ("{passages} {question} {sites}", "unknown place {sites}"),
        ("", "is empty"),
        ("ragctl-template: mine/1\n \n", "is empty"),
    ],
)
def test_a_place_that_is_missing_doubled_or_misspelled_is_named(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=r"the prompt p\.txt") as refused:
        _template(text)
    assert words in refused.value.message


def test_a_place_with_another_programs_name_is_recognised() -> None:
    with pytest.raises(SettingsError) as refused:
        _template("{context} {question}")
    assert refused.value.hint == "It has {context}: write {passages} instead."


def test_about_the_site_stands_between_passages_and_question_or_where_the_template_says() -> None:
    for template in (shipped("balanced"), _template(TEXT)):
        prompt = render(
            "Why?",
            [_hit("Body.")],
            template=template,
            budget_tokens=900,
            about_site="Two tracks.\n",
        ).text
        assert "\n\nAbout the site:\nTwo tracks.\n" in prompt
        assert prompt.index("Body.") < prompt.index("About the site") < prompt.index("Why?")
    first = render(
        "Why?",
        [],
        template=_template("{site}" + TEXT),
        budget_tokens=900,
        about_site="Two tracks.",
    ).text
    assert first.index("About the site") < first.index("Rules.")


def test_nothing_about_the_site_leaves_no_trace_of_its_place() -> None:
    prompt = render("Why?", [_hit("Body.")], template=shipped("balanced"), budget_tokens=900)
    assert prompt.text.endswith("Body.\n\nQuestion: Why?\nAnswer:")


def test_a_change_of_a_shipped_prompt_needs_a_new_version() -> None:
    """The hashes are of what is sent: whoever changes one writes a new name beside it."""
    hashes = {
        shipped(word).name: hashlib.sha256(shipped(word).text.encode()).hexdigest()[:16]
        for word in SHIPPED
    }
    assert hashes == {"balanced/3": "1cad536be0ec7bd1", "strict/3": "fc91f2ba7d775589"}
    assert not any("ragctl-template" in shipped(word).text for word in SHIPPED)


def test_a_template_of_a_file_is_named_after_the_file_and_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    template = read_template(file)
    assert template.name == f"file:mine.txt/{digest}"
    assert template.text == TEXT.rstrip("\n")


def test_a_file_that_is_no_template_is_refused_by_name_and_never_quoted(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("hunter2 secret")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe{passages}{question}")
    zeros = tmp_path / "zeros"
    zeros.write_bytes(b"{passages}{question}\0")
    long = tmp_path / "long"
    long.write_text(TEXT + "x" * LONGEST_FILE_BYTES)
    for path, words in (
        (secret, "lacks {passages}"),
        (binary, "not UTF-8"),
        (zeros, "is not a text"),
        (long, "64,000 bytes"),
        (tmp_path, "is no file"),
        (tmp_path / "strct", "is not there"),
    ):
        with pytest.raises(SettingsError) as refused:
            read_template(path)
        assert str(path) in refused.value.message
        assert words in refused.value.message
        assert "hunter2" not in refused.value.message + refused.value.hint
    assert "Did you mean strict?" in refused.value.hint
