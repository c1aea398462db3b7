"""Reading citations in all the forms that models write."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ragctl.stages.citations import Marks, find_marks, read_marks

VALID = [
    ("Open the gate [1, 3].", (1, 3)),
    ("Open the gate [1,3,2].", (1, 3, 2)),
    ("Open [1][2] the [3] gate.", (1, 2, 3)),
    ("Open [2-4].", (2, 3, 4)),
    ("Open [2\u20134] and [1\u20142].", (2, 3, 4, 1)),
    ("Open [1 to 3].", (1, 2, 3)),
    ("Open [1, 3-5].", (1, 3, 4, 5)),
    ("Open [1; 2] and [3 and 4] and [4 & 5].", (1, 2, 3, 4, 5)),
    ("\u3010 2 \u3011 and \uff3b\uff13\uff3d and \u30101\u2020source\u3011", (2, 3, 1)),
    ("Open [^2] and [^ 3].", (2, 3)),
    ("Open [passage 2] and [Passages 3, 4] and [source: 5].", (2, 3, 4, 5)),
    ("Open [Ref. 2] and [doc 3] and [#4].", (2, 3, 4)),
    ("Open [02].", (2,)),
    ("**[2]** and <sup>[1]</sup>", (2, 1)),
    ("[4] opens it. [4] again.", (4,)),
]
NONE = [
    "Steps (1) and (2).",
    "Version [1.2] of [a1].",
    "Open [1",
    "Open [1, 2",
    "See [the manual] or [] or [ ].",
    "Backwards [5-3].",
    "See `array[1]` here.",
    "```python\nx = array[1]\n```\nDone.",
    "~~~\nx[2]\n~~~",
    "A [1](https://site.example) link.",
    "```\nnever closed x[1]",
]


@pytest.mark.parametrize(("text", "numbers"), VALID)
def test_a_form_that_models_write_is_a_citation(text: str, numbers: tuple[int, ...]) -> None:
    assert read_marks(text, passages=5) == Marks(valid=numbers, out_of_range=())


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_citation_is_none(text: str) -> None:
    assert read_marks(text, passages=5) == Marks(valid=(), out_of_range=())


def test_numbers_out_of_range_are_told_apart() -> None:
    assert read_marks("So [0], [2031], [4-9].", passages=5) == Marks(
        valid=(4, 5), out_of_range=(0, 2031, 6, 7, 8, 9)
    )


def test_a_giant_range_builds_no_giant_list() -> None:
    began = time.perf_counter()
    marks = read_marks("See [1-999999999999].", passages=5)
    assert marks.valid == (1, 2, 3, 4, 5)
    assert len(marks.out_of_range) <= 100
    assert time.perf_counter() - began < 1


def test_a_mark_knows_where_it_stands() -> None:
    text = "One [1]. `x[2]` Two [2,9]."
    assert [
        (text[mark.start : mark.end], mark.numbers) for mark in find_marks(text, passages=3)
    ] == [
        ("[1]", (1,)),
        ("[2,9]", (2,)),
    ]


@pytest.mark.corpus
def test_the_field_s_answers_are_read_as_expected(cases_dir: Path) -> None:
    expected: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("comma", "pair", "pair-blank"), (1, 2)),
        "comma-tight": (1, 2, 4),
        **dict.fromkeys(("range", "range-en-dash"), (1, 2, 3)),
        "mixed": (1, 3, 4, 5),
        **dict.fromkeys(("semicolon", "and"), (1, 4)),
        **dict.fromkeys(("lenticular", "footnote", "leading-zero"), (1,)),
        **dict.fromkeys(("lenticular-dagger", "word", "bold", "superscript"), (2,)),
        **dict.fromkeys(("fullwidth", "blanks", "start"), (3,)),
        "caret-text": (2, 3),
        "word-case": (2, 4),
        "source-word": (5,),
        "repeat": (2, 1),
        "range-too-far": (4, 5),
        "huge": (1, 2, 3, 4, 5),
    }
    answers = json.loads((cases_dir / "B42" / "answers.json").read_text(encoding="utf-8"))
    assert len(answers) > 25
    for entry in answers:
        marks = read_marks(entry["answer"], passages=entry["passages"])
        assert marks.valid == expected.get(entry["id"], ()), entry
