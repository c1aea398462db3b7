"""Records as rich renderables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.stages.links import link_to

if TYPE_CHECKING:
    from ragctl.records.chunks import RefusedChunk
    from ragctl.records.ingest import IngestSummary
    from ragctl.records.links import LinkStyle
    from ragctl.records.search import Hit
    from ragctl.records.stored import StoredPage

LEFT_OUT = "left out of the prompt"
"""What is said of a passage that was found and not sent to the model."""


def source_uri(root: str | None, source_path: str) -> str | None:
    """Return a ``file:`` address of a page's source, ``None`` where it is not on this disk."""
    if root is None:
        return None
    path = Path(root) / source_path
    return path.as_uri() if path.is_file() else None


def show_passages(passages: Sequence[Hit], output: Output, *, sent: Sequence[Hit]) -> None:
    """Print passages as found: number, score, place, text, and which were not sent to the model."""
    numbers = {hit.n for hit in sent}
    for hit in passages:
        show_passage(hit, output, remark="" if hit.n in numbers else LEFT_OUT)


def show_passage(hit: Hit, output: Output, *, heading_only: bool = False, remark: str = "") -> None:
    """Print a passage as found: number, score, place, and unless only that is wanted its text."""
    place = f"{hit.title} — {hit.section}" if hit.section else hit.title
    output.line(
        Text.assemble(
            (f"[{hit.n}]", "cyan"),
            f" {hit.score:.3f} ",
            (harmless(place), "bold"),
            f"  {harmless(hit.ref)}",
            (f"  {remark}" if remark else "", "yellow"),
        )
    )
    if not heading_only:
        output.line(hit.body)
        output.line()


def show_ingest(summary: IngestSummary, output: Output) -> None:
    """Print the summary of an ingest by track: a table, or where it does not fit lines."""
    table = _ingest_table(summary)
    if output.fits(table):
        output.table(table)
        return
    for track in summary.tracks:
        output.line(f"{track.track}: {counted(track.pages, 'page')}")
        output.line(f"  {counted(track.passages, 'passage')}, {track.embedded:,} embedded")
        output.line(f"  {track.unchanged:,} unchanged, {track.removed:,} removed")
        output.line(f"  {track.left_out:,} left out")


def _ingest_table(summary: IngestSummary) -> Table:
    table = new_table("track", "pages", "passages", "embedded", "unchanged", "removed", "left out")
    rows = [
        (
            track.pages,
            track.passages,
            track.embedded,
            track.unchanged,
            track.removed,
            track.left_out,
        )
        for track in summary.tracks
    ]
    for track, row in zip(summary.tracks, rows, strict=True):
        table.add_row(Text(harmless(track.track)), *(f"{value:,}" for value in row))
    if len(rows) > 1:
        totals = [sum(column) for column in zip(*rows, strict=True)]
        table.add_section()
        table.add_row("total", *(f"{value:,}" for value in totals))
    return table


REFUSALS = {
    "too_long": "too long for the embedding model: ",
    "not_finite": "the embedding model gives no numbers (NaN) for it: ",
}


def _why_refused(refused: RefusedChunk) -> str:
    said = REFUSALS.get(refused.reason, "")
    return (
        refused.message if refused.message.startswith(said[:8] or " ") else said + refused.message
    )


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 passage``, ``2 passages``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _by_path(refused: Sequence[RefusedChunk]) -> dict[str, list[RefusedChunk]]:
    grouped: dict[str, list[RefusedChunk]] = {}
    for one in refused:
        grouped.setdefault(one.path, []).append(one)
    return grouped


def show_findings(summary: IngestSummary, output: Output) -> None:
    """Print what was left out and what the reader should look at, on stderr."""
    intended = Counter(left.reason for left in summary.left_out if left.intended)
    if intended:
        reasons = ", ".join(f"{count} ({reason})" for reason, count in sorted(intended.items()))
        output.remark(f"Left out on purpose: {reasons}.")
    for left in summary.left_out:
        if not left.intended:
            output.remark(f"LEFT OUT {left.path}: {left.reason}", style="red")
    for path, refused in _by_path(summary.refused).items():
        sections = dict.fromkeys(one.chunk.section for one in refused if one.chunk.section)
        where = f" ({', '.join(sections)})" if sections else ""
        output.remark(
            f"NO VECTOR {path}{where}: {counted(len(refused), 'passage')} refused: "
            f"{_why_refused(refused[0])}",
            style="red",
        )
    for warning in summary.warnings:
        output.remark(f"warning: {warning}", style="yellow")


def show_pages(
    pages: Sequence[StoredPage], output: Output, *, links: LinkStyle, root: str | None
) -> None:
    """Print the pages in reading order: a table, or where it does not fit two lines a page."""
    table = _pages_table(pages, output, links=links, root=root)
    if output.fits(table):
        output.table(table)
        return
    for page in pages:
        number = "" if page.is_landing else f"{page.position}. "
        output.line(f"{page.track}  {number}{page.title}")
        link = _page_link(page, output, links=links, root=root)
        passages = "landing page" if page.is_landing else counted(page.passages, "passage")
        output.line(Text("    ") + link)
        output.line(f"    {passages}, {counted(page.words, 'word')}")


def _page_link(page: StoredPage, output: Output, *, links: LinkStyle, root: str | None) -> Text:
    link = link_to(links, page.url, page.source_path)
    target = link if links.base_url else source_uri(root, page.source_path)
    return output.linked(link, target) if target else Text(harmless(link))


def _pages_table(
    pages: Sequence[StoredPage], output: Output, *, links: LinkStyle, root: str | None
) -> Table:
    table = new_table("track", "#", "title", "link", "passages", "words", text_columns=(0, 2, 3))
    for page in pages:
        table.add_row(
            Text(harmless(page.track)),
            "" if page.is_landing else str(page.position),
            Text(harmless(page.title)),
            _page_link(page, output, links=links, root=root),
            "landing" if page.is_landing else f"{page.passages:,}",
            f"{page.words:,}",
        )
    return table


def track_totals(pages: Sequence[StoredPage]) -> Table:
    """Return pages, passages and words by track."""
    table = new_table("track", "pages", "passages", "words")
    counts: dict[str, Counter[str]] = {}
    for page in pages:
        track = counts.setdefault(page.track, Counter())
        track["pages"] += not page.is_landing
        track["passages"] += page.passages
        track["words"] += page.words
    keys = ("pages", "passages", "words")
    for name, track in counts.items():
        table.add_row(Text(harmless(name)), *(f"{track[key]:,}" for key in keys))
    if len(counts) > 1:
        table.add_section()
        table.add_row(
            "total", *(f"{sum(track[key] for track in counts.values()):,}" for key in keys)
        )
    return table


def new_table(*columns: str, text_columns: tuple[int, ...] = (0,)) -> Table:
    """Return an empty table in the look of all tables; numbers stand to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        is_text = number in text_columns
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    return table
