from __future__ import annotations

import pytest

from ragctl.stages.sentences import Sentence, sentences_of, stems


def quotable(body: str) -> list[str]:
    return [sentence.text for sentence in sentences_of(body, passage=0)]


def test_a_sentence_knows_its_place_and_the_words_before_it() -> None:
    body = "The upper gate opens early.\n\n- Keepers close the lower gate at night\n"
    opens, closes = "The upper gate opens early.", "Keepers close the lower gate at night."
    assert sentences_of(body, passage=2) == [
        Sentence(text=opens, passage=2, position=0, stems=stems(opens)),
        Sentence(
            text=closes,
            passage=2,
            position=1,
            stems=stems(closes),
            before=stems(opens),
            item=True,
        ),
    ]


def test_code_tables_and_headings_are_never_quoted() -> None:
    body = """## The gate opens by itself at noon

The gate opens when the level is equal.

```c
gate_open(level); /* The gate opens here. It is open. */
```

| gate | opens |
|---|---|
| The gate opens at six. | The gate opens at seven. |

    The gate opens in indented code as well.
"""
    assert quotable(body) == ["The gate opens when the level is equal."]


def test_a_fence_cut_open_by_a_chunker_is_not_quoted() -> None:
    tail = (
        "    gate_open(level);\n    return gate;\n}\n```\n\nThe gate opens when levels are equal.\n"
    )
    head = "The gate opens when levels are equal.\n\n```c\nint gate;\nThe gate opens at noon.\n"
    for body in (tail, head):
        assert quotable(body) == ["The gate opens when levels are equal."]


def test_links_images_and_emphasis_are_reduced_to_their_words() -> None:
    body = (
        "The **upper** gate of the [Kiel canal](https://example.org/a_(b).html) opens with "
        "`gate --open [2]` ![drawing](gate.png), see [3] and [^4].\n"
    )
    assert quotable(body) == [
        "The upper gate of the Kiel canal opens with `gate --open [2]` , see and."
    ]


def test_foreign_brackets_never_pass_for_citations() -> None:
    body = "The upper gate opens at six [2]. The upper gate has two wings [3, 4], as drawn [5-7]."
    assert quotable(body) == [
        "The upper gate opens at six.",
        "The upper gate has two wings, as drawn.",
    ]


def test_names_in_angle_brackets_stay() -> None:
    body = "The gate needs the header <linux/bpf.h> and a Vec<u8> of levels to open at all.\n"
    assert quotable(body) == [body.strip()]


def test_a_list_goes_with_the_sentence_that_announces_it() -> None:
    body = "The gate has three states:\n\n- open to boats.\n- closed;\n- **locked** for winter\n"
    assert quotable(body) == [
        "The gate has three states: open to boats; closed; locked for winter."
    ]


def test_full_stops_in_code_and_abbreviations_end_no_sentence() -> None:
    body = "The gate driver, e.g. `gate.Open. Now`, waits for approx. 3 s before it opens vs. 5 s."
    assert quotable(body) == [body]


def test_fragments_questions_and_boilerplate_are_not_quoted() -> None:
    body = (
        "gate that was left open by the keeper at night. When does the gate open? "
        "See also the page about the gate and its keeper. The gate opens at dawn today.\n"
    )
    assert quotable(body) == ["The gate opens at dawn today."]


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
