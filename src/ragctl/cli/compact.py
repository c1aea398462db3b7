"""What ``ragctl db compact`` asks, does and shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ragctl import wiring
from ragctl.cli.progress import Doing
from ragctl.cli.render import counted, new_table
from ragctl.db.room import TableRoom
from ragctl.errors import DatabaseError, DatabaseUnsuitable, UsageError

if TYPE_CHECKING:
    from ragctl.cli.documents import Document
    from ragctl.cli.output import Output
    from ragctl.db.database import Database
    from ragctl.settings import Settings

Pair = tuple[TableRoom, TableRoom]
"""A table as it was and as it is."""


def plan(settings: Settings, *, everything: bool) -> list[TableRoom]:
    """Return the tables that would be written anew, by what the server last counted."""
    with wiring.open_database(settings) as database:
        return worth_rewriting(database, everything=everything, counts=False)


def compact_tables(
    settings: Settings, output: Output, *, everything: bool, yes: bool
) -> list[Pair]:
    """Write the tables anew that are worth it, or all, and return each as it was and as it is."""
    with wiring.open_database(settings) as database, database.ingesting():
        chosen = worth_rewriting(database, everything=everything, counts=True)
        if not chosen:
            return []
        require_room(chosen, wiring.free_disk_bytes(settings), output)
        confirm(chosen, yes=yes)
        return rewrite(database, chosen, output)


def worth_rewriting(database: Database, *, everything: bool, counts: bool) -> list[TableRoom]:
    """Return the tables that take more room than they need, or all; counted anew on demand.

    Raises :class:`~ragctl.errors.DatabaseUnsuitable` where the role may not rewrite them.
    """
    if counts:
        found = database.room.tables()
        foreign = [table.name for table in found if not table.is_owned]
        if foreign:
            raise DatabaseUnsuitable(
                f"only the owner of a table can rewrite it: {', '.join(foreign)}",
                hint="Run it with the role that ingests, or look with --dry-run.",
            )
        database.room.count(*(table.name for table in found))
    return [table for table in database.room.tables() if everything or table.is_worth_it]


def require_room(chosen: Sequence[TableRoom], free_bytes: int | None, output: Output) -> None:
    """Say how much free disk it takes where that cannot be looked up.

    Raises :class:`~ragctl.errors.DatabaseError` where there is less.
    """
    passing = max(table.passing_bytes for table in chosen)
    if free_bytes is None:
        output.remark(f"On the disk of the server up to {_size(passing)} must be free.")
    elif free_bytes < passing:
        raise DatabaseError(
            f"writing tables anew may take {_size(passing)} of disk until it is done, and "
            f"{_size(free_bytes)} are free",
            hint="Free some space on the disk of the data directory first.",
        )


def confirm(chosen: Sequence[TableRoom], *, yes: bool) -> None:
    """Ask whether to go on; raises UsageError where nobody is there to ask."""
    total = sum(table.total_bytes for table in chosen)
    question = f"Write {counted(len(chosen), 'table')} of {_size(total)} anew?"
    if yes:
        return
    if not os.isatty(0):
        raise UsageError(f"{question[:-1]}: nobody is there to ask", hint="Give --yes.")
    typer.confirm(f"{question} Questions wait meanwhile.", abort=True)


def rewrite(database: Database, chosen: Sequence[TableRoom], output: Output) -> list[Pair]:
    """Write tables anew, one after the other, and return each as it was and as it is.

    Each is done or untouched, whenever it is interrupted.
    """
    with Doing(output, begun="writing tables anew") as doing:
        for table in chosen:
            doing.show(f"writing {table.name} anew: {_size(table.total_bytes)}")
            with database.transaction():
                if table.name == "chunks":
                    database.vector_index.expect_rebuild()
                database.room.rewrite(table)
            database.room.tidy(table)
    after = {table.name: table for table in database.room.tables()}
    return [(table, after[table.name]) for table in chosen]


def show_plan(chosen: Sequence[TableRoom], output: Output) -> None:
    """Print what would be written anew and the least that it gives back."""
    if not chosen:
        output.line("nothing to give back")
        return
    table = new_table("table", "rows", "size", "times its rows", "spare, at least")
    for each in chosen:
        rows = "?" if each.rows is None else f"{each.rows:,}"
        bloat = f"{each.bloat:.1f}"
        table.add_row(each.name, rows, _size(each.total_bytes), bloat, _size(each.spare_bytes))
    output.table(table)
    output.remark("Nothing was changed (--dry-run).")


def show_done(pairs: Sequence[Pair], output: Output) -> None:
    """Print sizes before and after."""
    if not pairs:
        output.line("nothing to give back")
        return
    table = new_table("table", "before", "after")
    for before, after in pairs:
        table.add_row(before.name, _size(before.total_bytes), _size(after.total_bytes))
    output.table(table)
    given = sum(before.total_bytes - after.total_bytes for before, after in pairs)
    output.line(f"gave back {_size(max(0, given))}")


def compact_document(
    chosen: Sequence[TableRoom], pairs: Sequence[Pair], *, dry_run: bool
) -> Document:
    """Return ``ragctl.db_compact/1``; sizes are in bytes, ``after_bytes`` null in a dry run."""
    after = {each.name: each.total_bytes for _, each in pairs}
    return {
        "schema": "ragctl.db_compact/1",
        "dry_run": dry_run,
        "tables": [
            {
                "table": each.name,
                "rows": each.rows,
                "bloat": round(each.bloat, 2),
                "spare_bytes": each.spare_bytes,
                "before_bytes": each.total_bytes,
                "after_bytes": after.get(each.name),
            }
            for each in chosen
        ],
    }


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
