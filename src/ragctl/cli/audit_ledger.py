"""The ledger of ``ragctl audit``: what each page gave at each stage, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from ragctl import wiring
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted, new_table
from ragctl.errors import ContentError, ModelError
from ragctl.files import find, read
from ragctl.ledger import is_empty
from ragctl.records.search import Query

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.pages import SourceFile
    from ragctl.records.stored import LedgerLine
    from ragctl.settings import Settings

State = Literal["ok", "landing", "empty", "no text", "no passages", "refused", "gone"]
TITLES_AT_ONCE = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of the ledger, what it amounts to, and the rank at which its title finds it."""

    line: LedgerLine
    state: State
    rank: int | None = None

    @property
    def is_finding(self) -> bool:
        """True for a zero that was not intended."""
        return self.state not in ("ok", "landing", "empty")


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReport:
    """All lines, findings first, and the files that are not stored; ``remark`` tells of ranks."""

    entries: tuple[Entry, ...]
    not_stored: tuple[str, ...]
    remark: str = ""

    @property
    def findings(self) -> int:
        """How many zeros were not intended."""
        return sum(entry.is_finding for entry in self.entries) + len(self.not_stored)


def examine_ledger(
    database: Database, settings: Settings, *, track: str | None, with_ranks: bool
) -> LedgerReport:
    """Return the ledger of a track or of the whole site; stores nothing."""
    lines = database.pages.ledger(track=track)
    root = database.site.content_root()
    files = _files(root, settings)
    ranks, remark = _ranks(lines, database, settings) if with_ranks else ({}, "")
    entries = [
        Entry(line=line, state=_state(line, files, settings), rank=ranks.get(line.id))
        for line in lines
    ]
    entries.sort(key=lambda entry: not entry.is_finding)
    return LedgerReport(
        entries=tuple(entries),
        not_stored=_not_stored(files, lines, settings, track=track),
        remark=remark,
    )


def _files(root: str | None, settings: Settings) -> dict[str, SourceFile] | None:
    """Return the site's files by path, ``None`` where the root is not on this machine."""
    if root is None or not Path(root).is_dir():
        return None
    try:
        found = find(Path(root), tracks=settings.site.tracks, exclude=settings.site.exclude)
    except ContentError:
        return {}
    return {source.path: source for source in found.sources}


def _state(line: LedgerLine, files: dict[str, SourceFile] | None, settings: Settings) -> State:
    if files is not None and line.source_path not in files:
        return "gone"
    if line.is_landing:
        return "landing"
    if line.characters == 0:
        return "empty" if _has_no_text(line, files, settings) else "no text"
    if line.passages == 0:
        return "no passages"
    return "refused" if line.refused else "ok"


def _has_no_text(line: LedgerLine, files: dict[str, SourceFile] | None, settings: Settings) -> bool:
    if files is None:
        return False
    source = files[line.source_path]
    return is_empty(wiring.make_parser(settings).parse(source, read(source)))


def _not_stored(
    files: dict[str, SourceFile] | None,
    lines: Sequence[LedgerLine],
    settings: Settings,
    *,
    track: str | None,
) -> tuple[str, ...]:
    stored = {line.source_path for line in lines}
    parser = wiring.make_parser(settings)
    return tuple(
        path
        for path, source in (files or {}).items()
        if path not in stored
        and track in (None, source.track)
        and not parser.parse(source, read(source)).is_draft
    )


def _ranks(
    lines: Sequence[LedgerLine], database: Database, settings: Settings
) -> tuple[dict[int, int], str]:
    """Return by page the rank of its best passage for its own title; a remark where it fails."""
    shown = [line for line in lines if line.stored]
    ranks: dict[int, int] = {}
    try:
        embedder = wiring.make_embedder(settings, recorded=database.identity.load()).part
        for some in _batches(shown):
            vectors = embedder.embed([line.title for line in some], purpose="query")
            for line, vector in zip(some, vectors, strict=True):
                chunk_ids = [chunk.id for chunk in database.chunks.of_page(line.id)]
                query = Query(text=line.title, vector=vector)
                found = database.chunks.rank(query, chunk_ids).rank
                if found is not None:
                    ranks[line.id] = found
    except ModelError as error:
        return {}, f"No ranks: {error.message}."
    return ranks, ""


def _batches(lines: Sequence[LedgerLine]) -> Iterator[list[LedgerLine]]:
    source = iter(lines)
    while some := list(islice(source, TITLES_AT_ONCE)):
        yield some


def show_ledger(report: LedgerReport, output: Output) -> None:
    """Print the ledger, findings first."""
    numbers = ("bytes", "characters", "passages", "embedded", "stored", "title rank")
    table = new_table("page", "state", *numbers, text_columns=(0, 1))
    for entry in report.entries:
        table.add_row(
            Text(harmless(entry.line.url)),
            Text(entry.state, style="red" if entry.is_finding else ""),
            *(f"{value:,}" if value is not None else "-" for value in _numbers(entry)),
        )
    if output.fits(table):
        output.table(table)
    else:
        for entry in report.entries:
            output.line(f"{entry.line.url}: {entry.state}")
            values = zip(numbers, _numbers(entry), strict=True)
            output.line("    " + ", ".join(f"{name} {value}" for name, value in values))
    for path in report.not_stored:
        output.remark(f"NOT STORED {path}", style="red")
    if report.remark:
        output.remark(report.remark, style="yellow")
    found = counted(report.findings, "finding")
    output.remark(f"{counted(len(report.entries), 'page')}, {found}")


def _numbers(entry: Entry) -> tuple[int | None, ...]:
    line = entry.line
    return (
        line.size_bytes,
        line.characters,
        line.passages,
        line.stored,
        line.stored,
        entry.rank,
    )


def ledger_document(report: LedgerReport) -> dict[str, object]:
    """Return ``ragctl.audit/1``."""
    return {
        "schema": "ragctl.audit/1",
        "findings": report.findings,
        "pages": [
            {
                "url": entry.line.url,
                "source_path": entry.line.source_path,
                "state": entry.state,
                "bytes": entry.line.size_bytes,
                "characters": entry.line.characters,
                "passages": entry.line.passages,
                "embedded": entry.line.stored,
                "refused": entry.line.refused,
                "stored": entry.line.stored,
                "title_rank": entry.rank,
            }
            for entry in report.entries
        ],
        "not_stored": list(report.not_stored),
    }
