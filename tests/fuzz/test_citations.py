"""However a model writes its citations, they are read without a list too long or a wrong place."""

from __future__ import annotations

from hypothesis import strategies as st

from ragctl.records.links import LinkStyle
from ragctl.stages.bibliography import without_bibliography
from ragctl.stages.check import cite
from ragctl.stages.citations import find_marks, read_marks, without_code
from ragctl.stages.refusals import is_refusal
from tests.fuzz.grammar import ANSWERS
from tests.fuzz.property import fuzzed, in_time
from tests.hits import hit_of

PASSAGES = tuple(hit_of("A token bucket holds 1,000 tokens.", n) for n in (1, 2, 3))


@fuzzed(ANSWERS, st.integers(0, 9), runs=120)
def test_marks_stand_in_order_outside_code_and_hold_numbers_in_range(
    text: str, passages: int
) -> None:
    with in_time():
        marks = list(find_marks(text, passages=passages))
        read = read_marks(text, passages=passages)
    bare = without_code(text)
    done = 0
    for mark in marks:
        assert done <= mark.start < mark.end <= len(text)
        done = mark.end
        assert text[mark.start] in "[【［" and text[mark.end - 1] in "]】］"
        assert bare[mark.start : mark.end] == text[mark.start : mark.end]
    assert all(1 <= number <= passages for number in read.valid)
    assert not any(1 <= number <= passages for number in read.out_of_range)
    assert len(read.out_of_range) <= 102 * len(marks)


@fuzzed(ANSWERS, runs=60)
def test_code_is_blanked_in_its_place(text: str) -> None:
    bare = without_code(text)
    assert len(bare) == len(text)
    assert all(kept in (" ", written) for kept, written in zip(bare, text, strict=True))
    assert bare.count("\n") == text.count("\n")


@fuzzed(ANSWERS, st.sampled_from(["", "https://s.example", "https://s.example/docs/"]), runs=60)
def test_sources_are_cited_once_each_with_a_link_to_the_site(text: str, base_url: str) -> None:
    with in_time():
        citations = cite(text, PASSAGES, links=LinkStyle(base_url=base_url))
    assert len({citation.n for citation in citations}) == len(citations) <= len(PASSAGES)
    for citation in citations:
        assert citation.link.startswith(f"{base_url.rstrip('/')}/guide/")


@fuzzed(ANSWERS, runs=80)
def test_a_list_of_sources_is_taken_off_the_end_and_nothing_else_changes(text: str) -> None:
    with in_time():
        bare = without_bibliography(text)
        is_refusal(text)
    kept = bare.split()
    written = iter(text.split())
    assert all(word in written for word in kept)
