"""``ragctl eval make``: drafts of questions for users who have none."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.documents_file import Force, OutputFile, require_new, write_documents
from ragctl.cli.eval_store import require_index, site_pages
from ragctl.cli.output import Output
from ragctl.cli.render import counted
from ragctl.cli.sources import require_known_tracks
from ragctl.errors import ContentError
from ragctl.evaluate.drafts import draft_questions, question_document


def make(
    count: Annotated[
        int, typer.Option("--count", metavar="N", min=1, help="How many questions at most.")
    ] = 40,
    output_file: OutputFile = None,
    force: Force = False,
    track: options.Tracks = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Another number gives other questions.")
    ] = 0,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Draft questions from the site's headings and names, one JSON a line, to be reworded.

    They are easier than what readers ask, because they use the page's own words: a beginning, not
    a measure. Each names its page and section, and is marked as a draft.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    require_new(output_file, force=force)
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        require_index(database)
        tracks = tuple(track or ())
        require_known_tracks(database.pages.tracks(), tracks)
        pages = site_pages(database, database.pages.all())
    drafted = draft_questions(pages, count=count, seed=seed, tracks=tracks)
    if not drafted:
        raise ContentError(
            "no heading and no name gives a question",
            hint="Questions need pages with headings of their own; write some by hand.",
        )
    documents = [question_document(known) for known in drafted]
    where = write_documents(documents, output_file, output)
    fewer = f", {count:,} were asked for" if len(drafted) < count else ""
    output.remark(
        f"{counted(len(drafted), 'draft')}{where}{fewer}. Read and reword them: they use the "
        "site's own words, so they are easier than what readers ask.",
        style="yellow",
    )
