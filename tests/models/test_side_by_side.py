"""Texts that are worked on several at once."""

from __future__ import annotations

import threading

import pytest

from ragctl.models.side_by_side import side_by_side


@pytest.mark.parametrize("at_once", [1, 2, 8])
@pytest.mark.parametrize("texts", [[], ["a"], [str(number) for number in range(20)]])
def test_what_is_made_comes_back_in_the_order_of_the_texts(texts: list[str], at_once: int) -> None:
    assert side_by_side(str.upper, texts, at_once=at_once) == [text.upper() for text in texts]


def test_two_texts_are_in_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=10)
    assert len(side_by_side(lambda _text: meeting.wait(), ["a", "b"], at_once=2)) == 2


def test_what_went_wrong_is_raised_and_nothing_more_is_begun() -> None:
    begun: list[str] = []

    def refuse(text: str) -> str:
        begun.append(text)
        raise ValueError(text)

    with pytest.raises(ValueError, match="a"):
        side_by_side(refuse, ["a", "b", "c"], at_once=1)
    assert begun == ["a"]
