"""Options that several commands share, spelled and explained once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click
import typer

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
Mode = Annotated[
    str | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        click_type=click.Choice(["hybrid", "vector", "keyword"]),
        help="What finds passages: hybrid, vector (the nearest alone) or keyword (needs no model).",
    ),
]


def command_app(about: str, *, is_group: bool = False) -> typer.Typer:
    """Return the Typer application of one command or command group; a group alone shows help."""
    return typer.Typer(
        help=about,
        no_args_is_help=is_group,
        rich_markup_mode=None,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def listed(values: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return a repeatable option as settings take it: ``None`` where it was not given."""
    return tuple(values) if values else None
