"""Stages 1 to 4: from the files of a site to passages in the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from ragctl.index_match import (
    agreed_identity,
    record_identity,
    require_same_chunker,
    require_same_root,
)
from ragctl.indexing import (
    IngestOptions,
    changed_files,
    cut_pages,
    readable_files,
    rebuild,
    remove_gone,
    store_pages,
    with_vectors,
)
from ragctl.ledger import Ledger

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.protocols import Chunker, Embedder, Parser
    from ragctl.records.ingest import IngestProgress, IngestSummary
    from ragctl.records.pages import LeftOut, SourceFile

Clock = Callable[[], float]
"""Seconds from any fixed point, as ``time.perf_counter`` gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedPage:
    """A page as counted by :func:`survey`."""

    track: str
    is_landing: bool
    passages: int


def ingest(
    sources: Sequence[SourceFile],
    left_out: Sequence[LeftOut],
    *,
    options: IngestOptions,
    database: Database,
    chunker: Chunker,
    embedder: Embedder,
    report: Callable[[IngestProgress], None],
    clock: Clock,
) -> IngestSummary:
    """Bring the database to what the files say, and return what was done.

    Unchanged pages are left alone, changed ones replaced each in one transaction, pages whose
    file is gone removed. Raises :class:`~ragctl.errors.ContentRootMismatch` and
    :class:`~ragctl.errors.IndexMismatch` before anything is embedded.
    """
    require_same_root(database, options.root, moved=options.moved)
    recorded = database.identity.load()
    if not options.rebuild:
        require_same_chunker(recorded, chunker)
    ledger = Ledger(sources, left_out, clock=clock, report=report)
    run = database.runs.start()
    try:
        stored = {page.url: page for page in database.pages.all()}
        changed = changed_files(sources, stored, database, options, ledger)
        pages = cut_pages(changed, options.parser, chunker, drafts=options.drafts, ledger=ledger)
        first = next(pages, None)
        if first is not None:
            recorded = agreed_identity(recorded, chunker, embedder, rebuilds=options.rebuild)
            pages = chain((first,), pages)
            if options.rebuild:
                rebuild(sources, pages, recorded, database, chunker, embedder, options, ledger)
            else:
                record_identity(database, options.root, recorded)
                for batch in with_vectors(pages, database, embedder, options, ledger):
                    store_pages(batch, database, options.parser, ledger)
        if recorded is not None:
            record_identity(database, options.root, recorded)  # --moved, also without a change
        remove_gone(stored, database, options, ledger)
        now = database.pages.all() if ledger.has_written else stored.values()
        held = [page for page in now if options.covers(page)]
        summary = ledger.summary(root=options.root, index=recorded, pages=held)
    except BaseException:
        with suppress(Exception):  # the connection may be what broke
            database.runs.finish(run, outcome="stopped", counts=ledger.counts())
        raise
    outcome = "findings" if summary.has_findings else "done"
    database.runs.finish(run, outcome=outcome, counts=ledger.counts())
    return summary


def survey(
    sources: Sequence[SourceFile],
    left_out: Sequence[LeftOut],
    *,
    root: str,
    parser: Parser,
    chunker: Chunker,
    drafts: bool,
    clock: Clock,
) -> IngestSummary:
    """Return what an ingest would find: pages read and cut, nothing embedded or stored."""
    ledger = Ledger(sources, left_out, clock=clock, report=lambda _progress: None)
    files = readable_files(sources, ledger)
    pages = [
        SurveyedPage(track=page.track, is_landing=page.is_landing, passages=len(passages))
        for page, passages in cut_pages(files, parser, chunker, drafts=drafts, ledger=ledger)
    ]
    return ledger.summary(root=root, index=None, pages=pages)
