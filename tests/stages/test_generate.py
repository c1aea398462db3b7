from __future__ import annotations

import re

import pytest

from ragctl.errors import ModelReplyError
from ragctl.records.answers import Prompt
from ragctl.records.search import Hit
from ragctl.stages.extract import extract
from ragctl.stages.generate import ExtractiveGenerator


def hit(n: int, body: str, *, section: str | None = None, score: float = 0.8) -> Hit:
    return Hit(
        n=n,
        chunk_id=n,
        ref=f"/design/locks#c{n}",
        url="/design/locks",
        title="Canal locks",
        track="design",
        section=section,
        anchor=None,
        body=body,
        start_char=0,
        end_char=len(body),
        source_path="design/locks.md",
        score=score,
        vector_score=score,
    )


def test_what_is_quoted_has_the_passages_own_number_and_no_foreign_one() -> None:
    body = "The upper gate opens at six [2]. The upper gate has two wings [3, 4], as drawn [5-7]."
    answer = extract("What about the upper gate?", [hit(1, body)])
    assert set(re.findall(r"\[[^\]]*\]", answer)) == {"[1]"}


def test_the_sentence_that_answers_is_quoted_with_its_citation_before_the_full_stop() -> None:
    passages = [
        hit(
            1,
            "Barges wait in the basin. The upper gate opens at six in the morning. Fog is common.",
        ),
        hit(2, "Ropes are changed every quarter.", score=0.5),
    ]
    answer = extract("When does the upper gate open?", passages)
    assert answer == "The upper gate opens at six in the morning [1]."


def test_sentences_of_several_passages_each_have_their_own_citation() -> None:
    passages = [
        hit(3, "The upper gate is closed with a steel bar."),
        hit(7, "A lower gate is closed by the water alone."),
    ]
    answer = extract("How are the upper gate and the lower gate closed?", passages)
    assert "steel bar [3]." in answer
    assert "water alone [7]." in answer


def test_items_without_an_announcement_stand_one_below_the_other() -> None:
    body = (
        "- The upper gate is opened by the keeper at six\n"
        "- The lower gate is opened by the water pressure\n"
    )
    answer = extract("What opens the upper gate and the lower gate?", [hit(1, body)])
    assert answer == (
        "- The upper gate is opened by the keeper at six [1].\n"
        "- The lower gate is opened by the water pressure [1]."
    )


def test_an_overlap_of_two_passages_is_quoted_once() -> None:
    same = "The upper gate opens at six in the morning, seven days a week."
    answer = extract("When does the upper gate open?", [hit(1, same), hit(2, same)])
    assert answer.count("six in the morning") == 1


def test_the_sentence_after_the_matching_one_may_carry_the_answer() -> None:
    body = (
        "In old releases the gate error was called GATE_STUCK. "
        "The gate error is now called GATE_JAMMED. Boats are long."
    )
    answer = extract("Which gate error replaced GATE_STUCK?", [hit(1, body)])
    assert "GATE_JAMMED [1]." in answer
    assert "Boats" not in answer


def test_without_a_common_word_the_first_sentences_are_given() -> None:
    passages = [
        hit(1, "Barges wait in the basin. They are long."),
        hit(2, "Ropes are changed in spring."),
    ]
    answer = extract("Why?", passages)
    assert answer == "Barges wait in the basin [1].\n\nRopes are changed in spring [2]."


def test_passages_of_code_alone_are_named() -> None:
    answer = extract("How?", [hit(4, "```\nx = 1\n```\n", section="Opening")])
    assert answer == "“Canal locks › Opening” may answer this [4]."


def test_no_passages_give_no_answer() -> None:
    assert extract("How?", []) == ""
    prompt = Prompt(text="", question="How?", template="t", passages=())
    with pytest.raises(ModelReplyError):
        ExtractiveGenerator().generate(prompt, on_text=print)


def test_scores_of_zero_or_below_do_no_harm() -> None:
    passages = [
        hit(1, "The gate opens at dawn today.", score=-0.2),
        hit(2, "Nothing here at all.", score=0),
    ]
    assert "[1]." in extract("When does the gate open?", passages)


def test_a_text_without_blanks_between_words_is_quoted_too() -> None:
    body = "闸门在早上六点打开。绳子每季度更换一次。"
    assert extract("闸门什么时候打开?", [hit(1, body)]).startswith("闸门在早上六点打开 [1]。")


def test_the_generator_says_that_no_model_wrote_it() -> None:
    shown: list[str] = []
    prompt = Prompt(
        text="",
        question="When does the gate open?",
        template="t",
        passages=(hit(1, "The gate opens at dawn today."),),
    )
    generator = ExtractiveGenerator()
    draft = generator.generate(prompt, on_text=shown.append)
    assert draft.text == "".join(shown) == "The gate opens at dawn today [1]."
    assert (draft.route, draft.finish, draft.written_by_model) == ("extractive", "stop", False)
    assert draft.prompt_tokens is None
