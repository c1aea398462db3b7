"""``ragctl demo``: the handbook that ships with ragctl, ingested and asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

import ragctl
from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.asking import Request, ask_and_show
from ragctl.cli.ingest import Choices, ingest_folder, show_summary
from ragctl.cli.output import Output
from ragctl.cli.question import usable_question

SITE = "demo"
QUESTION = "How do I stop the database?"

app = options.command_app("Ingest the handbook that ships with ragctl and ask it something.")


def handbook() -> Path:
    """Return the content folder of the handbook in the package."""
    return Path(ragctl.__file__).resolve().parent / "handbook"


@app.command(epilog='Example: ragctl demo "How long is a passage?"')
def demo(
    question: Annotated[
        str, typer.Argument(metavar="[QUESTION]", help="What to ask the handbook.")
    ] = QUESTION,
    debug: options.Debug = False,
) -> None:
    """Ingest ragctl's own handbook as the site demo, ask a question, print the cited answer.

    Needs no Ollama: without it the embedded model finds passages and the answer quotes them.
    """
    asked = usable_question(question, example='ragctl demo "How long is a passage?"')
    settings = wiring.load_settings(
        {
            "site.name": SITE,
            "site.tracks": (),
            "site.exclude": (),
            "site.base_url": "",
            "site.url_style": "plain",
            "site.slugs": "github",
            "site.dist": "",
            "database.url": "",  # always on the embedded server: never in a database of theirs
        }
    )
    output = Output(environ=os.environ)
    summary = ingest_folder(
        handbook(), settings, output, choices=Choices(moved=True, yes=True, wait=True)
    )
    show_summary(summary, settings, output)
    output.line()
    output.line(f"> {asked}")
    output.line()
    code = ask_and_show(Request(question=asked), settings, output)
    raise typer.Exit(code)
