"""Keeps runs in the database, and what the eval commands ask of it before they measure."""

from __future__ import annotations

from collections.abc import Sequence

from ragctl.cli.output import Output
from ragctl.db.database import Database
from ragctl.db.evaluations import Outcome
from ragctl.errors import ContentError, DatabaseError, DatabaseUnsuitable
from ragctl.records import Evaluation, IndexIdentity


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
