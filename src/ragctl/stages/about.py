"""From passages found for a topic to the pages and sections that speak of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ragctl.records.search import Hit

PASSAGES: Final = 50
"""How many passages to find for a topic: those of ten pages, and the sections of a long one."""

SECOND_COUNTS: Final = 0.1
"""What the second best passage of a page adds to the score of its best.

Measured with 68 questions whose page is known (all-MiniLM-L6-v2, hybrid): the best alone put it
first for .85 and among five for .96; with a tenth of the second the same, and with the second or
the top three counted by a quarter or more .82 to .84 and .94 to .96. With page titles and headings
asked for as topics the differences are as small.
"""

LEAST_SHARE: Final = 0.6
"""A page or section with less than this share of the best one's score hardly speaks of it.

Of the same questions .97 keep their page at half the best score, .96 at this share, .93 at .8; the
median is six pages, three, and one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionAbout:
    """A section that speaks of a topic; ``ref`` and ``score`` are those of its best passage.

    ``section`` is ``None`` before the first heading of a page.
    """

    section: str | None
    anchor: str | None
    ref: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAbout:
    """A page that speaks of a topic, and its sections that do, in reading order."""

    url: str
    title: str
    track: str
    source_path: str
    score: float
    sections: tuple[SectionAbout, ...]


def pages_about(hits: Sequence[Hit], *, at_most: int) -> tuple[PageAbout, ...]:
    """Return the pages of passages found for a topic, those first that speak of it most.

    A page's score is that of its best passage and a tenth of the second's. What has less than
    :data:`LEAST_SHARE` of the best score is left out; the best section of a page always stays.
    """
    by_page: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: hit.n):
        by_page.setdefault(hit.url, []).append(hit)
    scores = {url: _page_score(found) for url, found in by_page.items()}
    best = max(scores.values(), default=0.0)
    kept = [url for url in by_page if scores[url] >= LEAST_SHARE * best]
    kept.sort(key=lambda url: -scores[url])  # stable: equal pages stay as they were found
    least = LEAST_SHARE * max((hit.score for hit in hits), default=0.0)
    return tuple(
        _page(by_page[url], score=scores[url], least=least) for url in kept[: max(at_most, 0)]
    )


def _page_score(hits: Sequence[Hit]) -> float:
    second = hits[1].score if len(hits) > 1 else 0.0
    return hits[0].score + SECOND_COUNTS * second


def _page(hits: Sequence[Hit], *, score: float, least: float) -> PageAbout:
    strongest: dict[tuple[str | None, str | None], Hit] = {}
    begins: dict[tuple[str | None, str | None], int] = {}
    for hit in hits:
        key = (hit.section, hit.anchor)
        strongest.setdefault(key, hit)
        begins[key] = min(hit.start_char, begins.get(key, hit.start_char))
    kept = [key for key, hit in strongest.items() if hit is hits[0] or hit.score >= least]
    return PageAbout(
        url=hits[0].url,
        title=hits[0].title,
        track=hits[0].track,
        source_path=hits[0].source_path,
        score=score,
        sections=tuple(
            SectionAbout(
                section=strongest[key].section,
                anchor=strongest[key].anchor,
                ref=strongest[key].ref,
                score=strongest[key].score,
            )
            for key in sorted(kept, key=lambda key: begins[key])
        ),
    )
