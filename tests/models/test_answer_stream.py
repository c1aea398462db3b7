from __future__ import annotations

import pytest

from ragctl.errors import ModelReplyError
from ragctl.models.answer_stream import (
    LONGEST_LINE_BYTES,
    Ending,
    StreamedAnswer,
    ThinkingFilter,
    count_or_none,
    lines_of,
)


class Cutter:
    """A guard that cuts at the first ``!``."""

    def __init__(self) -> None:
        self.text = ""

    def feed(self, piece: str) -> int | None:
        self.text += piece
        return self.text.index("!") if "!" in self.text else None


def answer(shown: list[str], *, token_limit: int = 10) -> StreamedAnswer:
    return StreamedAnswer(Cutter(), shown.append, token_limit=token_limit)


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_lines_do_not_depend_on_the_borders_of_packets(size: int) -> None:
    data = b"one\r\n\r\n\n two\nthree"
    packets = [data[i : i + size] for i in range(0, len(data), size)]
    assert list(lines_of(iter(packets))) == [b"one\r", b" two", b"three"]


def test_a_line_that_never_ends_is_refused() -> None:
    with pytest.raises(ModelReplyError, match="line of over"):
        list(lines_of(iter([b"x" * LONGEST_LINE_BYTES, b"x"])))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (7, 7), (-1, None), (True, None), (7.0, None), ("7", None), (None, None)],
)
def test_only_a_whole_number_of_at_least_0_is_a_figure(value: object, expected: int | None) -> None:
    assert count_or_none(value) == expected


def test_the_draft_has_the_ending_and_its_figures() -> None:
    shown: list[str] = []
    made = answer(shown)
    made.take(" \n Six")
    assert made.finish is None
    made.take(" [1].", Ending(finish="length", prompt_tokens=9, output_tokens=3, decode_ms=0.5))
    draft = made.draft("a/b")
    assert draft.text == "".join(shown) == "Six [1]."
    assert (draft.route, draft.finish, draft.error) == ("a/b", "length", "")
    assert (draft.prompt_tokens, draft.output_tokens) == (9, 3)
    assert (draft.prefill_ms, draft.decode_ms) == (None, 0.5)


def test_what_the_guard_cuts_is_shown_but_not_kept() -> None:
    shown: list[str] = []
    made = answer(shown)
    made.take("Six! Six!", Ending(finish="stop", output_tokens=3))
    draft = made.draft("a/b")
    assert (draft.text, draft.finish, draft.output_tokens) == ("Six", "repetition", None)
    assert shown == ["Six! Six!"]


def test_an_answer_torn_after_some_text_keeps_it_and_one_without_is_the_error() -> None:
    lost = ModelReplyError("lost")
    made = answer([])
    made.take("Six\n<thi")
    made.tear(lost)
    draft = made.draft("a/b")
    assert (draft.text, draft.finish, draft.error) == ("Six\n<thi", "torn", "lost")
    with pytest.raises(ModelReplyError, match="lost"):
        answer([]).tear(lost)


def test_messages_without_text_count_towards_the_limit_of_tokens() -> None:
    made = answer([], token_limit=10)
    with pytest.raises(ModelReplyError, match="limit of 10 tokens"):
        for _ in range(100):
            made.take("")


def test_what_only_looks_like_a_tag_is_given_back_at_the_end() -> None:
    thinking = ThinkingFilter()
    assert thinking.feed("a\n<thi") + thinking.flush() == "a\n<thi"
