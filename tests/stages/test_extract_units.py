"""What can be quoted of a passage, and what is not."""

from __future__ import annotations

import pytest

from ragctl.stages.extract.units import LONGEST_BODY_CHARS, Unit, units_of


def units(body: str, kind: str = "") -> list[Unit]:
    return [unit for unit in units_of(body, passage=0) if kind in ("", unit.kind)]


def texts(body: str, kind: str = "") -> list[str]:
    return [unit.text for unit in units(body, kind)]


MIXED = """## The gate opens by itself at noon

The gate opens when the level is equal.

```c
gate_open(level);  /* The gate opens here. It is open. */
\tlevel = 0;
```

| gate | opens |
|---|---|
| upper | at six |
| lower | at seven |

- Keepers close the lower gate at night

![The gate in winter, seen from the bridge.](gate.png)

[gate]: https://example.org/gate
"""


def test_sentences_items_rows_and_listings_are_told_apart_and_headings_left_out() -> None:
    assert [(unit.kind, unit.text) for unit in units(MIXED)] == [
        ("sentence", "The gate opens when the level is equal."),
        ("code", "gate_open(level);  /* The gate opens here. It is open. */\n\tlevel = 0;"),
        ("row", "| upper | at six |"),
        ("row", "| lower | at seven |"),
        ("item", "Keepers close the lower gate at night"),
    ]


def test_a_row_knows_its_header_and_a_listing_its_language() -> None:
    (listing,) = units(MIXED, "code")
    first, _second = units(MIXED, "row")
    assert listing.head == "c"
    assert first.head == "| gate | opens |\n|---|---|"


def test_a_unit_knows_its_passage_and_place() -> None:
    found = units_of(MIXED, passage=3)
    assert [unit.position for unit in found] == list(range(len(found)))
    assert {unit.passage for unit in found} == {3}


def test_what_a_sentence_with_a_colon_announces_needs_it() -> None:
    body = "The gate has three states:\n\n- open\n- closed;\n- **locked** for winter\n"
    lead, *items = units(body)
    assert lead.announces
    assert [(unit.text, unit.needs) for unit in items] == [
        ("open", lead.position),
        ("closed", lead.position),
        ("locked for winter", lead.position),
    ]


def test_a_listing_needs_the_sentence_that_points_to_it() -> None:
    lead, listing = units("Open the gate with the following command.\n\n```\ngate --open\n```\n")
    assert listing.needs == lead.position
    assert not lead.announces


def test_nested_items_need_the_item_above() -> None:
    parent, child = units("- The upper gate is opened by the keeper\n  - at six\n")
    assert (child.needs, child.depth) == (parent.position, 1)


def test_a_sentence_that_leans_back_needs_the_one_before_it() -> None:
    one, other = units("The gate opens at six. It closes at nine in summer.")
    assert (other.needs, other.leans) == (one.position, True)
    one, other = units("The gate opens at six.\n\nThis is early for most of the keepers.")
    assert other.needs == one.position


def test_nothing_is_needed_across_a_listing_or_a_heading() -> None:
    for between in ("```\nx\n```", "## Times"):
        body = f"The gate opens at six.\n\n{between}\n\nThis is early for most of the keepers."
        assert units(body, "sentence")[-1].needs is None


def test_items_that_are_but_a_link_name_other_pages_and_say_nothing() -> None:
    body = "- [How gates are opened in winter](a.md)\n- The gate opens at six, see [there](b.md)\n"
    assert texts(body) == ["The gate opens at six, see there"]


def test_links_images_and_emphasis_are_reduced_to_their_words() -> None:
    body = (
        "The **upper** gate of the [Kiel canal](https://example.org/a_(b).html) opens with "
        "`gate --open [2]` ![drawing](gate.png), see [3] and [^4].\n"
    )
    assert texts(body) == [
        "The upper gate of the Kiel canal opens with `gate --open [2]` , see and."
    ]


def test_foreign_brackets_never_pass_for_citations() -> None:
    body = "The upper gate opens at six [2]. The upper gate has two wings [3, 4], as drawn [5-7]."
    assert texts(body) == [
        "The upper gate opens at six.",
        "The upper gate has two wings, as drawn.",
    ]


def test_a_link_defined_elsewhere_is_reduced_to_its_words_and_an_index_stays() -> None:
    body = (
        "The gate is explained in [another chapter][gates], and cost[gate][level] is its price.\n"
    )
    assert texts(body) == [
        "The gate is explained in another chapter, and cost[gate][level] is its price."
    ]


def test_names_in_angle_brackets_stay() -> None:
    body = "The gate needs the header <linux/bpf.h> and a Vec<u8> of levels to open at all.\n"
    assert texts(body) == [body.strip()]


def test_lines_that_explain_terms_are_quoted_one_by_one() -> None:
    body = "**Upper gate**: opens at six in the morning\n**Lower gate**: opens by water alone\n"
    assert texts(body) == [
        "Upper gate: opens at six in the morning",
        "Lower gate: opens by water alone",
    ]


def test_fragments_questions_and_boilerplate_are_not_quoted() -> None:
    body = (
        "gate that was left open by the keeper at night. When does the gate open? "
        "See also the page about the gate and its keeper. The gate opens at dawn today.\n"
    )
    assert texts(body) == ["The gate opens at dawn today."]


def test_a_fence_cut_open_by_a_chunker_is_not_quoted() -> None:
    tail = (
        "    gate_open(level);\n    return gate;\n}\n```\n\nThe gate opens when levels are equal.\n"
    )
    head = "The gate opens when levels are equal.\n\n```c\nint gate;\nThe gate opens at noon.\n"
    for body in (tail, head):
        assert texts(body) == ["The gate opens when levels are equal."]


def test_indented_prose_is_prose_and_indented_code_is_code() -> None:
    assert [unit.kind for unit in units("!!! note\n\n    The gate opens at six today.\n")] == [
        "sentence"
    ]
    assert texts("Say:\n\n    gate --open\n    gate --close\n", "code") == [
        "    gate --open\n    gate --close"
    ]


@pytest.mark.parametrize("piece", ["The gate opens. ", "- gate opens\n", "gate ", "`a ", "["])
def test_of_a_hostile_passage_only_the_beginning_is_read(piece: str) -> None:
    found = units(piece * (100_000 // len(piece)))
    assert sum(len(unit.text) for unit in found) <= LONGEST_BODY_CHARS
