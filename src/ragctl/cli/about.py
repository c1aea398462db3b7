"""``ragctl sources --about``: the pages and sections that speak of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl import wiring
from ragctl.cli.output import Output, harmless
from ragctl.cli.question import usable_question
from ragctl.cli.render import counted, source_uri
from ragctl.cli.sources import require_known_tracks
from ragctl.errors import ContentError
from ragctl.pipeline.answer import find_passages, keyword_only
from ragctl.stages.about import PASSAGES, PageAbout, SectionAbout, pages_about
from ragctl.stages.links import link_to

if TYPE_CHECKING:
    from ragctl.records.answers import Problem
    from ragctl.records.links import LinkStyle
    from ragctl.settings import Settings

PAGES_SHOWN = 10
SECTIONS_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What was found for a topic; ``in_words`` says whether a passage holds a word of it."""

    pages: tuple[PageAbout, ...]
    problems: tuple[Problem, ...]
    in_words: bool
    root: str | None


def show_about(
    topic: str,
    settings: Settings,
    output: Output,
    *,
    tracks: tuple[str, ...],
    at_most: int,
    as_json: bool,
) -> None:
    """Print the pages that speak of a topic, best first, with their sections in reading order."""
    asked = usable_question(topic, example='ragctl sources --about "consistent hashing"')
    found = _find(asked, settings, tracks=tracks, at_most=at_most)
    links = wiring.link_style(settings)
    if as_json:
        output.json(_document(asked, settings, found, links, tracks=tracks))
        return
    for problem in found.problems:
        output.remark(problem.message, style="yellow")
    if not found.pages:
        output.remark("No page speaks of this.")
    elif not found.in_words:
        output.remark("No page has a word of this; these are the nearest by meaning.")
    for number, page in enumerate(found.pages, start=1):
        _show(number, page, output, links=links, root=found.root)


def _find(topic: str, settings: Settings, *, tracks: tuple[str, ...], at_most: int) -> _Found:
    with wiring.open_database(settings) as database:
        identity = database.identity.load()
        if identity is None or database.chunks.count() == 0:
            raise ContentError(
                "nothing has been ingested yet",
                hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
            )
        require_known_tracks(database.pages.tracks(), tracks)
        search = wiring.make_search(settings, database, recorded=identity)
        hits, problems = find_passages(
            topic,
            embedder=search.embedder,
            retriever=search.retriever,
            tracks=tracks,
            pages=(),
            k=PASSAGES,
            words_will_do=settings.retrieval.mode == "hybrid",
        )
        if search.unreached:
            problems = (keyword_only(search.unreached), *problems)
        root = database.site.content_root()
    return _Found(
        pages=pages_about(hits, at_most=at_most),
        problems=problems,
        in_words=any(hit.keyword_score is None or hit.keyword_score > 0 for hit in hits),
        root=root,
    )


def _show(
    number: int, page: PageAbout, output: Output, *, links: LinkStyle, root: str | None
) -> None:
    if number > 1:
        output.line()
    output.line(
        Text.assemble(
            (f"{number}.", "cyan"),
            f" {page.score:.3f} ",
            (harmless(page.title), "bold"),
            f"  {harmless(page.track)}",
        )
    )
    source = None if links.base_url else source_uri(root, page.source_path)
    _show_link(link_to(links, page.url, page.source_path), output, source=source)
    shown = _strongest(page.sections)
    for section in shown:
        output.line(f"     {section.score:.3f} {_label(section)}")
        if section.anchor:
            link = link_to(links, page.url, page.source_path, section.anchor)
            _show_link(link, output, source=source, indent=11)
    if len(page.sections) > len(shown):
        output.line(f"     and {counted(len(page.sections) - len(shown), 'more section')}")


def _strongest(sections: Sequence[SectionAbout]) -> list[SectionAbout]:
    """Return those of the highest scores, in the order in which they stand on the page."""
    ranked = sorted(sections, key=lambda section: -section.score)[:SECTIONS_SHOWN]
    return [section for section in sections if section in ranked]


def _show_link(link: str, output: Output, *, source: str | None, indent: int = 3) -> None:
    """Print a link; a path opens the page's file where it is on this disk."""
    target = source or ("" if link.startswith("/") else link)
    shown = output.linked(link, target) if target else Text(harmless(link))
    output.line(Text(" " * indent) + shown)


def _label(section: SectionAbout) -> str:
    return section.section or "(before the first heading)"


def _document(
    topic: str,
    settings: Settings,
    found: _Found,
    links: LinkStyle,
    *,
    tracks: Sequence[str],
) -> dict[str, object]:
    """Return ``ragctl.sources_about/1``."""
    return {
        "schema": "ragctl.sources_about/1",
        "about": topic,
        "mode": "keyword" if found.problems else settings.retrieval.mode,
        "tracks": list(tracks),
        "in_words": found.in_words and bool(found.pages),
        "pages": [
            {
                "n": number,
                "url": page.url,
                "track": page.track,
                "title": page.title,
                "link": link_to(links, page.url, page.source_path),
                "score": round(page.score, 6),
                "sections": [
                    {
                        "section": section.section or "",
                        "anchor": section.anchor or "",
                        "link": link_to(links, page.url, page.source_path, section.anchor),
                        "ref": section.ref,
                        "score": round(section.score, 6),
                    }
                    for section in page.sections
                ],
            }
            for number, page in enumerate(found.pages, start=1)
        ],
        "problems": [
            {"code": problem.code, "message": problem.message} for problem in found.problems
        ],
    }
