"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click
import typer
from typer.core import TyperGroup

from ragctl.cli.completion import complete_pages, complete_sites, complete_tracks

Site = Annotated[
    str | None,
    typer.Option(
        "--site",
        metavar="NAME",
        help="The site: each name is a database of its own.",
        autocompletion=complete_sites,
    ),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        metavar="URL",
        help="A PostgreSQL with pgvector instead of the embedded server.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Artifacts = Annotated[
    Path | None,
    typer.Option(
        "--artifacts",
        metavar="DIR",
        help="Write what passes between the stages into this folder, as files.",
    ),
]
Tracks = Annotated[
    list[str] | None,
    typer.Option(
        "--track",
        metavar="TRACK",
        help="Only this track; may be given more than once.",
        autocompletion=complete_tracks,
    ),
]
Pages = Annotated[
    list[str] | None,
    typer.Option(
        "--page",
        metavar="URL",
        help="Only this page: address, link or path; may be given more than once.",
        autocompletion=complete_pages,
    ),
]
_SINCE = typer.Option(
    "--since", metavar="WHEN", help="How far to look back: 30m, 6h, 7d, 4w, or 2026-11-01."
)
Since = Annotated[str, _SINCE]
SinceIfGiven = Annotated[str | None, _SINCE]
PassagesWanted = Annotated[
    int | None,
    typer.Option(
        "-k",
        metavar="N",
        help="How many passages to find, 1 to 100; default: 5 (or `retrieval.k`).",
    ),
]
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        click_type=click.Choice(["hybrid", "vector", "keyword"]),
        help="What finds passages: hybrid, vector (the nearest alone) or keyword (needs no model).",
    ),
]

_UNCUT = 1000


class _Group(TyperGroup):
    """A group whose commands are listed with the whole first sentence of their help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their order, wrapped where click would cut."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(limit=_UNCUT))
                    for name, command in named
                    if command is not None and not command.hidden
                ]
            )


def command_app(about: str, *, is_group: bool = False, epilog: str | None = None) -> typer.Typer:
    """Return the Typer application of one command or command group; a group alone shows help.

    ``epilog`` is the example of a group that has no command of its own.
    """
    return typer.Typer(
        cls=_Group,
        help=about,
        epilog=epilog,
        no_args_is_help=is_group,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def listed(values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return a repeatable option as settings take it: ``None`` where it was not given."""
    return tuple(values) if values else None
