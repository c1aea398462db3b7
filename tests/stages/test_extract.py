"""Which parts of the passages are quoted for a question, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from ragctl.records.search import Hit
from ragctl.stages.citations import without_code
from ragctl.stages.claims import check_claims
from ragctl.stages.extract import extract
from ragctl.stages.extract.units import units_of
from tests.stages.test_generate import hit

TABLE = """The times differ by gate.

| gate | opens | keeper |
|------|-------|--------|
| upper | at six | Anna |
| lower | at seven | Bert |
| weir | never | nobody |
"""
LISTING = """Gates are opened by a program.

```python
import canal

gate = canal.Gate("upper")
gate.open(level=3)
```
"""
LONG = "\n".join(
    [
        "Gates are opened by a program.",
        "",
        "```c",
        *(f"int unrelated_{number} = {number};" for number in range(20)),
        "",
        "void open_gate(int level)",
        "{",
        "    raise_level(level);",
        "    unlock();",
        "}",
        "",
        *(f"int more_{number} = {number};" for number in range(20)),
        "```",
    ]
)
STORY = (
    "The upper gate was built in 1907 by the harbour office. It was made of oak. "
    "Barges wait in the basin. Ropes are changed every quarter, and the keepers are paid by week."
)


def listing_in(answer: str) -> str:
    found = re.search(r"^```\w*\n(.*?)\n```$", answer, re.S | re.M)
    assert found, answer
    return found[1]


def test_a_row_is_shown_whole_with_its_header() -> None:
    answer = extract("When does the lower gate open?", [hit(2, TABLE, section="Times")])
    assert (
        "Under *Times* [2]:\n\n| gate | opens | keeper |\n|------|-------|--------|\n"
        "| lower | at seven | Bert |"
    ) in answer
    assert "weir" not in answer


@pytest.mark.parametrize(
    ("section", "place"),
    [("2. Times", "Under *Times* [2]:"), ("Times? Here. Read on", "From passage [2]:")],
)
def test_a_section_with_full_stops_makes_no_statement_of_the_lead_in(
    section: str, place: str
) -> None:
    passages = [hit(2, TABLE, section=section)]
    answer = extract("When does the lower gate open?", passages)
    assert place in answer
    assert all(claim.verdict == "supported" for claim in check_claims(answer, passages))


def test_at_most_four_rows_are_shown() -> None:
    rows = "".join(f"| lock {number} | gate |\n" for number in range(9))
    answer = extract("Which lock has a gate?", [hit(1, f"| lock | part |\n|---|---|\n{rows}")])
    assert answer.count("| gate |") == 4


def test_a_listing_that_is_asked_for_is_quoted_to_the_byte_with_its_language() -> None:
    answer = extract("How do I open the upper gate?", [hit(1, LISTING, section="Opening")])
    assert "```python\n" in answer
    assert f"```python\n{listing_in(answer)}\n```" in LISTING


def test_of_a_long_listing_the_block_that_matches_is_quoted_and_its_lines_named() -> None:
    answer = extract("Which function does open_gate call?", [hit(1, LONG, section="Opening")])
    quoted = listing_in(answer)
    assert quoted.split("\n") == [
        "void open_gate(int level)",
        "{",
        "    raise_level(level);",
        "    unlock();",
        "}",
    ]
    assert "Under *Opening*, lines 22–26 of 47 [1]:" in answer


def test_a_listing_without_a_word_of_the_question_stays_away() -> None:
    assert "```" not in extract("How do I pay a keeper?", [hit(1, f"{STORY}\n\n```\nx = 1\n```")])


def test_backticks_in_a_listing_do_not_end_it() -> None:
    body = "~~~md\nopen the gate\n```\ncode\n```\n~~~"
    answer = extract("Show how to open the gate.", [hit(1, body)])
    assert "````md\nopen the gate\n```\ncode\n```\n````" in answer


def test_a_list_comes_with_the_sentence_that_announces_it() -> None:
    body = "The gate has three states:\n\n- open to boats.\n- closed;\n- **locked** for winter\n"
    answer = extract("Which states does the gate have?", [hit(1, body)])
    assert answer == (
        "The gate has three states [1]:\n\n"
        "- open to boats [1].\n- closed [1].\n- locked for winter [1]."
    )


def test_a_colon_that_nothing_follows_becomes_a_full_stop() -> None:
    body = "The gate is opened by this program:\n\n<svg></svg>\n"
    assert extract("What opens the gate?", [hit(1, body)]) == (
        "The gate is opened by this program [1]."
    )


def test_a_sentence_that_leans_back_brings_the_one_before_it() -> None:
    body = "Keepers live in the tower. They open the upper gate at six."
    answer = extract("Who opens the upper gate?", [hit(1, body)])
    assert answer == "Keepers live in the tower [1]. They open the upper gate at six [1]."


def test_where_that_one_cannot_be_quoted_the_section_is_named() -> None:
    body = "```\nx\n```\n\nIt opens the upper gate at six in summer."
    answer = extract("What opens the upper gate?", [hit(1, body, section="The keeper")])
    assert answer.startswith("Under *The keeper* [1]:\n\nIt opens the upper gate")


@pytest.mark.parametrize(
    ("question", "body", "wanted", "other"),
    [
        (
            "How many keepers does the gate have?",
            "The gate has keepers of renown. The keepers of the gate number 14 in all.",
            "14",
            "",
        ),
        (
            "Why is the gate closed?",
            "The gate is closed with a bar. The gate is closed because boats race at night.",
            "because boats race",
            "",
        ),
        (
            "What does gate_lock do?",
            "Gates have a lock that does a lot. The driver calls `gate_lock` to stop the wheel. "
            "Boats are long.",
            "stop the wheel",
            "Boats",
        ),
    ],
)
def test_the_form_of_the_question_tells_which_sentence_answers(
    question: str, body: str, wanted: str, other: str
) -> None:
    answer = extract(question, [hit(1, body)], words=10)
    assert wanted in answer
    assert not other or other not in answer


def test_a_question_about_two_things_is_answered_from_both_passages() -> None:
    passages = [
        hit(1, f"The upper gate is closed with a steel bar. {STORY}"),
        hit(2, "A lower gate is closed by the water alone.", score=0.6),
    ]
    answer = extract("How do the upper gate and the lower gate differ?", passages)
    assert "steel bar [1]." in answer
    assert "water alone [2]." in answer


def test_passages_stand_in_the_order_of_their_rank_and_sentences_in_reading_order() -> None:
    one = "The gate is painted green each spring. The gate opens at six in the morning."
    two = "At six in the morning the gate opens for barges that wait below the weir."
    answer = extract("When does the gate open in the morning?", [hit(1, one), hit(2, two)])
    numbers = re.findall(r"\[(\d)\]", answer)
    assert numbers == sorted(numbers)
    assert answer.index("painted") < answer.index("opens at six")


def test_prose_stays_within_its_words() -> None:
    body = " ".join(
        f"The gate opens for ship{n}a, ship{n}b, ship{n}c and ship{n}d." for n in range(60)
    )
    for words in (30, 60, 120):
        quoted = extract("When does the gate open?", [hit(1, body)], words=words)
        assert words - 10 < len(re.sub(r" \[1\]", "", quoted).split()) <= words


def test_what_is_quoted_stands_in_its_passage_and_every_claim_is_supported() -> None:
    passages = [hit(1, TABLE), hit(2, LISTING), hit(3, STORY), hit(4, LONG)]
    for question in ("How is the gate opened, and when?", "Show the program for gates.", "Who?"):
        answer = extract(question, passages)
        assert _quoted_is_verbatim(answer, passages)
        assert {claim.verdict for claim in check_claims(answer, passages)} <= {"supported"}


def _quoted_is_verbatim(answer: str, passages: Sequence[Hit]) -> bool:
    """Compare sentences by number, and rows and lines of code with all passages."""
    everything = "\n".join(passage.body for passage in passages)
    for code in re.findall(r"^```\w*\n(.*?)\n```$", answer, re.S | re.M):
        assert code in everything
    for line in without_code(answer).split("\n"):
        if line.startswith("|"):
            assert line in everything
        elif not line.startswith(("Under", "From")):
            for text, number, end in re.findall(r"(\S.*?) \[(\d)\]([.:!])", line):
                body = passages[int(number) - 1].body
                assert text.strip() + end in body, (text, body)
    return True


def test_units_are_verbatim_parts_of_their_passage() -> None:
    for body in (TABLE, LISTING, STORY, LONG):
        found = units_of(body, passage=0)
        assert found
        assert all(unit.text in body for unit in found)


def test_the_same_question_has_the_same_answer() -> None:
    passages = [hit(1, TABLE), hit(2, LISTING), hit(3, STORY)]
    answers = {extract("How is the gate opened?", passages) for _ in range(3)}
    assert len(answers) == 1


@pytest.mark.parametrize(
    "piece",
    ["gate opens ", "`a ", "[1,", "| a ", "*a ", "> ", "&", "<a ", "闸门打开。", "\\", '. "'],
)
def test_a_line_of_a_hundred_thousand_characters_is_answered_from(piece: str) -> None:
    body = f"The gate opens at six. {piece * (100_000 // len(piece))}"
    assert extract("When does the gate open?", [hit(1, body)])
