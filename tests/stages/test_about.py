"""From passages to pages: their order, their sections, and what is left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragctl.records.search import Hit
from ragctl.stages.about import LEAST_SHARE, SECOND_COUNTS, PageAbout, pages_about


def _hits(*found: tuple[str, str | None, float, int]) -> list[Hit]:
    """Return passages by page, section, score and place, numbered by score."""
    ordered = sorted(found, key=lambda each: -each[2])
    return [
        Hit(
            n=n, chunk_id=n, ref=f"{url}#c{start}", url=url, title=f"Title of {url}", track="t",
            section=section, anchor=section and section.lower(), body="", start_char=start,
            end_char=start + 1, source_path=f"{url}.md", score=score, vector_score=score,
        )
        for n, (url, section, score, start) in enumerate(ordered, start=1)
    ]  # fmt: skip


def _told(pages: tuple[PageAbout, ...]) -> list[str]:
    return [page.url for page in pages]


def test_nothing_found_is_about_nothing() -> None:
    assert pages_about([], at_most=10) == ()
    assert pages_about(_hits(("/a", None, 0.0, 0)), at_most=0) == ()


def test_the_page_with_the_best_passage_comes_first_and_a_second_one_breaks_ties() -> None:
    hits = _hits(("/a", "A", 0.80, 0), ("/b", "B", 0.80, 0), ("/b", "C", 0.70, 9))
    pages = pages_about(hits, at_most=10)
    assert _told(pages) == ["/b", "/a"]
    assert [page.score for page in pages] == [
        pytest.approx(0.80 + SECOND_COUNTS * 0.70),
        pytest.approx(0.80),
    ]
    many = [("/many", f"S{n}", 0.60, n) for n in range(10)]
    assert _told(pages_about(_hits(("/one", "A", 0.80, 0), *many), at_most=10))[0] == "/one"


def test_pages_of_one_score_stay_in_the_order_in_which_they_were_found() -> None:
    hits = _hits(*((f"/{n}", "S", 0.5, n) for n in range(6)))
    assert _told(pages_about(hits, at_most=10)) == [f"/{n}" for n in range(6)]
    assert _told(pages_about(list(reversed(hits)), at_most=10)) == [f"/{n}" for n in range(6)]
    assert _told(pages_about(hits, at_most=2)) == ["/0", "/1"]


def test_a_page_that_hardly_matches_is_left_out() -> None:
    best = 0.9
    hits = _hits(
        ("/a", "S", best, 0),
        ("/just", "S", best * LEAST_SHARE, 0),
        ("/not", "S", best * LEAST_SHARE - 0.001, 0),
    )
    assert _told(pages_about(hits, at_most=10)) == ["/a", "/just"]


def test_sections_stand_in_reading_order_each_once_with_its_best_passage() -> None:
    hits = _hits(
        ("/a", "Late", 0.90, 500), ("/a", "Early", 0.80, 100), ("/a", "Early", 0.70, 50),
        ("/a", "Weak", 0.10, 10), ("/a", None, 0.85, 0), ("/a", "Late", 0.60, 900),
    )  # fmt: skip
    (page,) = pages_about(hits, at_most=10)
    assert [(found.section, found.ref, found.score) for found in page.sections] == [
        (None, "/a#c0", 0.85),
        ("Early", "/a#c100", 0.80),
        ("Late", "/a#c500", 0.90),
    ]
    assert [found.anchor for found in page.sections] == [None, "early", "late"]


def test_two_sections_of_one_name_are_two_where_their_anchors_differ() -> None:
    first, second = _hits(("/a", "Notes", 0.9, 0), ("/a", "Notes", 0.8, 50))
    (page,) = pages_about([first, replace(second, anchor="notes-1")], at_most=1)
    assert [found.anchor for found in page.sections] == ["notes", "notes-1"]


def test_a_page_that_stays_keeps_its_best_section() -> None:
    weak = 0.9 * LEAST_SHARE - 0.01
    hits = _hits(("/a", "S", 0.9, 0), ("/b", "T", weak, 5), ("/b", "U", weak - 0.01, 0))
    pages = pages_about(hits, at_most=10)
    assert _told(pages) == ["/a", "/b"]
    assert [found.section for found in pages[1].sections] == ["T"]
