"""What the eval commands take from the database, and the runs that they keep in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ragctl import __version__
from ragctl.errors import ContentError, DatabaseError, DatabaseUnsuitable
from ragctl.evaluate.runs import RunBase
from ragctl.evaluate.site import SitePage
from ragctl.observe.traces import trace_id

if TYPE_CHECKING:
    from ragctl.cli.output import Output
    from ragctl.db.database import Database
    from ragctl.db.evaluations import Outcome
    from ragctl.evaluate.questions import QuestionFile
    from ragctl.records.evaluations import Evaluation
    from ragctl.records.stored import StoredPage
    from ragctl.records.vectors import IndexIdentity


def require_index(database: Database) -> tuple[IndexIdentity, int]:
    """Return what the index was made with and how many passages it holds.

    Raises :class:`~ragctl.errors.ContentError` where it holds none.
    """
    identity, passages = database.identity.load(), database.chunks.count()
    if identity is None or passages == 0:
        raise ContentError(
            "nothing has been ingested yet",
            hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
        )
    return identity, passages


def site_pages(database: Database, stored: Sequence[StoredPage]) -> list[SitePage]:
    """Return pages with their text and passages, in the order given."""
    pages = []
    for page in stored:
        text = database.pages.text(page.url)
        if text is not None:  # removed by an ingest that runs now
            passages = [each.chunk for each in database.chunks.of_page(page.id)]
            pages.append(SitePage.of(text, passages))
    return pages


def run_base(file: QuestionFile, identity: IndexIdentity, passages: int, *, k: int) -> RunBase:
    """Return what the runs of this call, by this program, have in common."""
    return RunBase(
        at=datetime.now(UTC),
        file=file,
        identity=identity,
        passages=passages,
        k=k,
        program_version=__version__,
    )


def new_id(base: RunBase) -> str:
    """Return an id for a run that was made now."""
    return trace_id(base.at, os.urandom(10))


def store_runs(
    database: Database, runs: Sequence[tuple[Evaluation, Sequence[Outcome]]], output: Output
) -> dict[str, str]:
    """Store runs and return their ids by label; where that cannot be, say so and return none."""
    try:
        database.evaluations.record(runs)
    except DatabaseError as error:
        is_rights = isinstance(error, DatabaseUnsuitable)
        why = "runs cannot be written with these rights" if is_rights else error.message
        output.remark(f"Not stored: {why}.", style="yellow")
        return {}
    return {run.label: run.id for run, _ in runs}
