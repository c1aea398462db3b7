from __future__ import annotations

import time

import pytest

from ragctl.stages.repetition import RepetitionGuard


def kept(text: str, *, size: int = 4) -> str | None:
    """Feed a text in small pieces; return what is to be kept once it runs away."""
    guard = RepetitionGuard()
    for start in range(0, len(text), size):
        length = guard.feed(text[start : start + size])
        if length is not None:
            return text[:length]
    return None


@pytest.mark.parametrize("size", [1, 3, 17, 1000])
def test_a_sentence_three_times_in_a_row_is_cut_after_the_first(size: int) -> None:
    start = "Answer first. "
    text = start + "The rope is changed every quarter [1]. " * 4
    assert kept(text, size=size) == start + "The rope is changed every quarter [1]."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("again and " * 60, "again and"),
        ("So it goes: " + "no no " * 60, "So it goes: no"),
        (
            "- Open the upper gate\n- Close the lower gate\n" * 4,
            "- Open the upper gate\n- Close the lower gate",
        ),
        (
            "Open the gate.\n\nFill the chamber, slowly.\n\n" * 4,
            "Open the gate.\n\nFill the chamber, slowly.",
        ),
        (
            "".join(f"{n}. Check the mooring rope twice.\n" for n in range(1, 9)),
            "1. Check the mooring rope twice.",
        ),
        (
            "The GATE opens at six today. the gate opens AT SIX today. " * 3,
            "The GATE opens at six today.",
        ),
        (
            "闸门在六点钟打开并且在八点钟关闭所以请准时到达这里不要迟到谢谢。" * 5,
            "闸门在六点钟打开并且在八点钟关闭所以请准时到达这里不要迟到谢谢。",
        ),
        ("| a gate | is open |\n" * 12, "| a gate | is open |"),
    ],
)
def test_what_goes_round_is_cut_after_its_first_copy(text: str, expected: str) -> None:
    assert kept(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The gate opens at six [1]. " * 2
        + "The gate closes at eight [2]. Then the keeper sleeps. ",
        "```c\n" + '    asm volatile("nop" ::: "memory");\n' * 30 + "```\nThat is all. ",
        "~~~\n" + "0x00, 0x00, 0x00, 0x00,\n" * 40 + "~~~\n",
        "Run this:\n\n" + "    make clean all install\n" * 20 + "\n",
        "| lock | open |\n|---|---|\n" + "".join(f"| {n} | yes |\n" for n in range(40)),
        "| a | b | c |\n| --- | --- | --- |\n"
        + "| yes | yes | yes |\n" * 3
        + "| no | yes | yes |\n",
        "".join(f"- Use the option `--{n}` to set the value of {n}.\n" for n in "abcdefghij"),
        "".join(f"{n}. The lock keeper opens gate {n} and waits.\n" for n in range(10)),
        "It is very, very, very, very, very old. ",
        "-" * 400 + "\n" + "=" * 400 + "\n",
        "Values: " + "0, " * 60 + "\n",
        "Row, row, row your boat. " * 2 + "Gently down the stream. ",
        "The lock holds. " * 3 + "It does. ",
    ],
)
def test_code_tables_lists_and_refrains_do_not_run_away(text: str) -> None:
    assert kept(text) is None


def test_text_after_code_is_watched_again() -> None:
    assert kept("```\ncode\n```\n" + "The rope is changed every quarter. " * 4) is not None


def test_the_guard_takes_time_in_proportion_to_the_text() -> None:
    def seconds(words: int) -> float:
        text = " ".join(f"w{n * n % 7919}x{n}" for n in range(words))
        start = time.perf_counter()
        assert kept(text, size=8) is None
        assert kept("a" * words) is None
        return time.perf_counter() - start

    seconds(500)
    assert seconds(20_000) < 40 * max(seconds(2_000), 0.005)
