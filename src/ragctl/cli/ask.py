"""``ragctl ask``: a question, an answer, and where it comes from."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.artifacts import beside, whole_answer_document
from ragctl.cli.documents import answer_document
from ragctl.cli.output import Output
from ragctl.cli.render import show_passages, show_sources_of
from ragctl.cli.sources import require_known_tracks
from ragctl.db.database import Database
from ragctl.errors import (
    EXIT_DONE,
    EXIT_INCOMPLETE,
    ContentError,
    DatabaseUnsuitable,
    RagctlError,
    UsageError,
)
from ragctl.freshness import changes_since
from ragctl.indexing import require_same_model
from ragctl.observe.recorder import Recorder
from ragctl.pipeline import AnswerOptions, answer
from ragctl.records import Answer, Asked, Prompt
from ragctl.settings import Settings

LONGEST_QUESTION = 2000

app = options.command_app("Answer a question from the site, with citations.")


@app.command(
    epilog='Examples: ragctl ask "How does the token bucket refill?" | '
    "echo 'What is RCU?' | ragctl ask - --track kernel --json",
)
def ask(
    question: Annotated[
        str,
        typer.Argument(metavar="QUESTION", help="The question; - reads it from stdin."),
    ],
    track: options.Tracks = None,
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many passages to answer from.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The Ollama model that writes the answer."),
    ] = None,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print the exact prompt before the answer.")
    ] = False,
    show_passages: Annotated[
        bool, typer.Option("--show-passages", help="Print the passages after the answer.")
    ] = False,
    artifacts: options.Artifacts = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Answer a question from the passages nearest to it, and print the answer with its sources."""
    settings = wiring.load_settings(
        {
            "site.name": site,
            "database.url": database_url,
            "retrieval.k": k,
            "generation.model": model,
            "generation.provider": "ollama" if model else None,
        }
    )
    asked = usable_question(sys.stdin.read() if question == "-" else question)
    code = ask_and_show(
        asked,
        settings,
        Output(environ=os.environ),
        tracks=tuple(track or ()),
        as_json=json,
        with_prompt=show_prompt,
        with_passages=show_passages,
        artifacts=artifacts,
    )
    raise typer.Exit(code)


def usable_question(text: str) -> str:
    """Return a question without blanks around it.

    Raises :class:`~ragctl.errors.UsageError` where it is empty or over-long. NUL and what is not
    Unicode become U+FFFD.
    """
    text = clean(text).strip()
    if not any(character.isalnum() for character in text):
        raise UsageError(
            "the question is empty", hint='Ask something: ragctl ask "How does it work?"'
        )
    if len(text) > LONGEST_QUESTION:
        raise UsageError(
            f"the question has {len(text):,} characters; at most {LONGEST_QUESTION:,} are read",
            hint="Ask about one thing, in a sentence or two.",
        )
    return text


def clean(text: str) -> str:
    """Replace NUL and lone surrogates, which no database column holds."""
    return "".join(
        "\ufffd" if character == "\0" or "\ud800" <= character <= "\udfff" else character
        for character in text
    )


def ask_and_show(
    question: str,
    settings: Settings,
    output: Output,
    *,
    tracks: tuple[str, ...] = (),
    as_json: bool = False,
    with_prompt: bool = False,
    with_passages: bool = False,
    artifacts: Path | None = None,
) -> int:
    """Answer a question, print it, and return the exit code."""
    with wiring.open_database(settings) as database:
        identity = database.identity.load()
        if identity is None or database.chunks.count() == 0:
            raise ContentError(
                "nothing has been ingested yet",
                hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
            )
        require_known_tracks(database.pages.tracks(), tracks)
        root = database.site.content_root()
        asked = Asked(
            question=question,
            at=datetime.now(UTC),
            tracks=tracks,
            k=settings.retrieval.k,
            embedding_model=identity.embedding.label,
            template=settings.generation.prompt,
        )
        with _recorder(asked, settings, database, output) as recorder:
            embedder = wiring.make_embedder(settings, recorded=identity).part
            require_same_model(identity, embedder.identity)
            generator = wiring.make_generator(settings)
            written = artifacts and beside(
                artifacts,
                database.chunks,
                generator.part,
                options=answer_options(settings, tracks=tracks),
                embedding=identity.embedding,
                settings=settings,
                root=root,
            )
            _remark_changes(database, settings, root, output)
            if generator.remark and not as_json:
                output.remark(generator.remark, style="yellow")

            def show(prompt: Prompt) -> None:
                output.line(prompt.text)
                output.line()

            found = answer(
                question,
                options=answer_options(settings, tracks=tracks),
                embedder=embedder,
                retriever=written or database.chunks,
                generator=written or generator.part,
                on_prompt=recorder.prompts(show if with_prompt and not as_json else _ignored),
                on_text=recorder.texts(_ignored if as_json else output.stream),
                clock=time.perf_counter,
            )
            found = recorder.keep(found)
    if written:
        written.finish(found, whole_answer_document(found))
    if as_json:
        output.json(answer_document(found, include_prompt=with_prompt))
    else:
        _show(found, output, root=root, with_passages=with_passages)
    return EXIT_INCOMPLETE if found.finish in ("torn", "repetition") else EXIT_DONE


def answer_options(settings: Settings, *, tracks: tuple[str, ...]) -> AnswerOptions:
    """Return how the settings have a question answered."""
    return AnswerOptions(
        tracks=tracks,
        k=settings.retrieval.k,
        template=settings.generation.prompt,
        budget_tokens=settings.generation.num_ctx - settings.generation.num_predict,
        links=wiring.link_style(settings),
    )


def _recorder(asked: Asked, settings: Settings, database: Database, output: Output) -> Recorder:
    def remark(error: Exception) -> None:
        reason = error.message if isinstance(error, RagctlError) else type(error).__name__
        if isinstance(error, DatabaseUnsuitable):
            reason = "traces cannot be written with these rights."
        output.remark(f"Not recorded: {reason}", style="yellow")

    return Recorder(
        asked,
        tracer=None if settings.traces.record == "off" else database.traces,
        keep_texts=settings.traces.record == "on",
        on_lost=remark,
        random=os.urandom,
        clock=time.perf_counter,
    )


def _ignored(_piece: object) -> None:
    """Take a prompt or a piece of an answer that is printed later or not at all."""


def _show(found: Answer, output: Output, *, root: str | None, with_passages: bool) -> None:
    output.line()
    show_sources_of(found, output, root=root)
    if with_passages:
        output.line()
        show_passages(found.passages, output)
    for problem in found.problems:
        output.remark(problem.message, style="yellow")


def _remark_changes(
    database: Database, settings: Settings, root: str | None, output: Output
) -> None:
    run = database.runs.last()
    if root is None or run is None:
        return
    if run.outcome in ("running", "stopped"):
        output.remark(
            "The last ingest did not finish: some pages may be missing. `ragctl ingest` goes on.",
            style="yellow",
        )
    changes = changes_since(
        Path(root),
        database.pages.all(),
        ingested_at=run.started_at,
        exclude=settings.site.exclude,
    )
    if changes.count:
        files = "1 file" if changes.count == 1 else f"{changes.count} files"
        output.remark(
            f"{files} changed since the last ingest; `ragctl ingest` brings them in.",
            style="yellow",
        )
