"""``ragctl index``: an approximate vector index, measured before it is used."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.index_report import (
    figures_document,
    show_figures,
    show_status,
    status_document,
    tell_in_use,
    tell_measured,
)
from ragctl.cli.output import Output
from ragctl.cli.progress import Doing
from ragctl.errors import ContentError, DatabaseUnsuitable, ModelError, UsageError
from ragctl.evaluate.questions import read_questions
from ragctl.evaluate.recall import ENOUGH, WIDTHS, Sample
from ragctl.evaluate.vector_index import (
    CREATE_COMMAND,
    SAMPLES,
    advice,
    create_hnsw,
    index_status,
    measured,
    passage_samples,
)
from ragctl.index_match import require_same_model

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.db.vector_index import BuiltIndex
    from ragctl.records.recall import RecallFigures
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

LEAST_QUESTIONS = 20
"""Fewer questions than this tell nothing: passages are searched for instead."""

_BATCH = 32  # questions embedded at once
Samples = tuple[str, Sequence[Sample]]

app = options.command_app(
    "Search more passages than the exact scan can: build, measure, drop an index.",
    is_group=True,
    epilog="Example: ragctl index create hnsw --yes",
)


@app.callback()
def index() -> None:
    """Search more passages than the exact scan can: build, measure, drop an index."""


@app.command(epilog="Example: ragctl index status --json")
def status(
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show how passages are searched, what was measured, and what is recommended at this size."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    with wiring.open_database(settings) as database:
        found = index_status(database)
    output = Output(environ=os.environ)
    if json:
        output.json(status_document(found))
    else:
        show_status(found, output)


@app.command(epilog="Example: ragctl index create hnsw --yes")
def create(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", click_type=click.Choice(["hnsw"]), help="The kind of index: hnsw."
        ),
    ],
    m: Annotated[
        int,
        typer.Option("--m", metavar="N", min=2, max=100, help="Links a passage has in the graph."),
    ] = 16,
    ef_construction: Annotated[
        int,
        typer.Option(
            "--ef-construction",
            metavar="N",
            min=4,
            max=1000,
            help="Candidates kept while building; at least twice --m.",
        ),
    ] = 64,
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            metavar="N",
            min=10,
            max=1000,
            help="Candidates kept while searching; the narrowest that is good enough by default.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Build an index, measure its recall against the exact scan, and use it where that is enough.

    Ingests wait while it is built; questions do not. From then on a search may miss a passage:
    the table that is printed says how often.
    """
    if ef_construction < 2 * m:
        raise UsageError(
            f"--ef-construction {ef_construction} is less than twice --m {m}",
            hint=f"Give --ef-construction {2 * m} or more.",
        )
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database, database.ingesting():
        identity = _identity(database)
        rows = database.chunks.count()
        _confirm(rows, yes=yes)
        with Doing(output, begun="building the index") as doing:
            figures = create_hnsw(
                database,
                lambda: _samples(settings, database, identity, None, output),
                m=m,
                ef_construction=ef_construction,
                width=width,
                embedding_model=identity.embedding.label,
                on_progress=lambda done: doing.show(_built(done, rows)),
                report=lambda done: doing.show(f"measuring: {done} searches"),
                clock=time.perf_counter,
            )
        made = database.vector_index.load()
    show_figures(figures, output)
    if made is not None and made.in_use:
        tell_in_use(figures, made, output)
        return
    output.line(f"The index is not used: no width has a recall of {ENOUGH}. Searches stay exact.")
    output.line(f"  {CREATE_COMMAND} --m {2 * m} --ef-construction {4 * max(ef_construction, m)}")
    output.line(f"  or {CREATE_COMMAND} --width N to use it as it is, or ragctl index drop")


@app.command(epilog="Example: ragctl index recall --questions questions.jsonl")
def recall(
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="Search for these questions, one JSON object a line, not for those of traces.",
        ),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Measure again how many of the five nearest the index finds, at several widths.

    What is measured is kept, and shown by `ragctl index status`; the width in use stays.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    texts = [known.question for known in read_questions(questions)] if questions else None
    with wiring.open_database(settings) as database:
        identity = _identity(database)
        built = database.vector_index.load()
        if built is None:
            raise ContentError("there is no index to measure", hint=f"Build one: {CREATE_COMMAND}")
        source, samples = _samples(settings, database, identity, texts, output)
        widths = sorted({*WIDTHS, *((built.width,) if built.width else ())})
        with Doing(output, begun="measuring") as doing:
            figures = measured(
                database,
                source,
                samples,
                widths=widths,
                report=lambda done: doing.show(f"measuring: {done} of {len(samples)} searches"),
                clock=time.perf_counter,
            )
        _record(database, figures, built, identity, output)
    if json:
        output.json({"schema": "ragctl.index_recall/1", **figures_document(figures, built.width)})
        return
    show_figures(figures, output)
    tell_measured(figures, built, output)


@app.command(epilog="Example: ragctl index drop")
def drop(
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Remove the index; searches are exact again. Nothing where there is none."""
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    with wiring.open_database(settings) as database:
        built = database.vector_index.load()
        database.vector_index.drop()
        others = database.vector_index.others()
    output = Output(environ=os.environ)
    output.line(f"{'dropped' if built else 'there was no index'}: searches are exact")
    for other in others:
        output.remark(f"{other.name} ({other.method}) is not ragctl's: it stays, and is not used")


def _identity(database: Database) -> IndexIdentity:
    identity = database.identity.load()
    if identity is None or database.chunks.count() == 0:
        raise ContentError(
            "nothing has been ingested yet", hint="Run `ragctl ingest PATH/TO/CONTENT` first."
        )
    return identity


def _confirm(rows: int, *, yes: bool) -> None:
    recommended, why, _ = advice(rows)
    question = f"Build an index over {rows:,} passages?"
    if recommended == "exact":
        question = f"Build an index over {rows:,} passages, though {why}?"
    if yes:
        return
    if not os.isatty(0):
        raise UsageError(f"{question[:-1]}: nobody is there to ask", hint="Give --yes.")
    typer.confirm(question, abort=True)


def _samples(
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
    texts: list[str] | None,
    output: Output,
) -> Samples:
    """Return what to search for: questions where there are enough and a model, else passages."""
    source = "traces" if texts is None else "file"
    asked = database.traces.questions(at_most=SAMPLES) if texts is None else texts[:SAMPLES]
    if source == "traces" and len(asked) < LEAST_QUESTIONS:
        output.remark(
            f"Fewer than {LEAST_QUESTIONS} questions were asked so far: passages are searched for."
        )
        return passage_samples(database)
    try:
        embedder = wiring.make_embedder(settings, recorded=identity).part
        require_same_model(identity, embedder.identity)
        batches = [asked[start : start + _BATCH] for start in range(0, len(asked), _BATCH)]
        vectors = [each for batch in batches for each in embedder.embed(batch, purpose="query")]
    except ModelError as error:
        if source == "file":
            raise
        output.remark(f"Questions cannot be embedded, passages are searched for: {error.message}")
        return passage_samples(database)
    return source, [Sample(vector=vector) for vector in vectors]


def _record(
    database: Database,
    figures: RecallFigures,
    built: BuiltIndex,
    identity: IndexIdentity,
    output: Output,
) -> None:
    width = built.width if built.in_use else None
    try:
        database.vector_index.record(figures, embedding_model=identity.embedding.label, width=width)
    except DatabaseUnsuitable as error:
        output.remark(f"The figures are not kept: {error.message}")


def _built(done: int, total: int) -> str:
    return f"building the index: {done:,} of {total:,} passages"
