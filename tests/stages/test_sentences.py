from __future__ import annotations

import pytest

from ragctl.stages.sentences import is_whole, split_sentences, stemmed, stems


def test_full_stops_in_code_and_abbreviations_end_no_sentence() -> None:
    text = (
        "The gate driver, e.g. `gate.Open. Now`, waits for approx. 3 s before vs. after it opens."
    )
    assert split_sentences(f"{text} Boats wait.") == [text, "Boats wait."]


def test_backticks_of_many_lengths_without_a_partner_are_read_in_passing() -> None:
    text = " ".join("`" * length for length in range(1, 400))
    assert split_sentences(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "gate that was left open by the keeper at night.",
        "When does the gate open?",
        "See also the page about the gate and its keeper.",
        "The gate",
        "a = b[3] + c[4]; d = e[5] * f[6]; g = (h)[7];",
    ],
)
def test_fragments_questions_boilerplate_and_formulas_are_no_whole_sentences(text: str) -> None:
    assert not is_whole(text)
    assert is_whole("The gate opens at dawn today.")


def test_stems_stand_in_order_and_parts_follow_their_identifier() -> None:
    assert stemmed("Locks of bpf_reg opening") == ["lock", "of", "bpf_reg", "bpf", "reg", "open"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gates", "gate"),
        ("opening", "opened"),
        ("stopped", "stopping"),
        ("queries", "query"),
        ("caches", "caching"),
        ("quickly", "quick"),
        ("class", "classes"),
        ("balanced", "balance"),
    ],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert stems(one) == stems(other)


def test_identifiers_count_whole_and_by_their_parts() -> None:
    assert {"bpf_reg_stat", "bpf", "reg", "stat"} <= stems("bpf_reg_state")
