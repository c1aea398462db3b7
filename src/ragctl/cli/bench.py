"""``ragctl bench model``: where the time of an answer goes on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.bench_shown import Bench, Questions, bench_document, show_bench
from ragctl.cli.eval_store import require_index, site_pages
from ragctl.cli.output import Output
from ragctl.cli.progress import Doing
from ragctl.errors import EXIT_DONE, ContentError, DatabaseError
from ragctl.evaluate.drafts import draft_questions
from ragctl.evaluate.latency import Ask, Timed, time_answers
from ragctl.evaluate.questions import read_questions
from ragctl.gateway.trial import TINY_PROMPT
from ragctl.observe.stopwatch import Stopwatch
from ragctl.pipeline.answer import answer
from ragctl.records.answers import Answer, Prompt
from ragctl.wiring.answers import answer_options

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.protocols import Embedder, Generator
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

TRACED_QUESTIONS = 10
DRAFTED_QUESTIONS = 5
app = options.command_app(
    "Measure what this machine takes for an answer.",
    is_group=True,
    epilog="Example: ragctl bench model --runs 5",
)


@app.callback()
def bench() -> None:
    """Measure what this machine takes for an answer."""


@app.command(epilog="Example: ragctl bench model --runs 3")
def model(
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="A question file; default: questions that were asked before, else drafts from "
            "the site.",
        ),
    ] = None,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", metavar="N", min=1, max=100, help="How often each question is asked in a row."
        ),
    ] = 3,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Time each step of an answer: embed, search, wait, read the prompt, write.

    A prompt that comes again may be read from the model server's own cache, so first and further
    times are told apart. Without a model that writes, only embedding and search are timed.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        identity, passages = require_index(database)
        asked = _questions(questions, database, output)
        measured = _measured(asked, settings, database, identity, output, runs=runs)
    found = Bench(
        timed=measured[0],
        questions=asked,
        runs=runs,
        embedding=identity.embedding.label,
        passages=passages,
        mode=settings.retrieval.mode,
        reason=measured[1],
    )
    if json:
        output.json(bench_document(found))
    else:
        show_bench(found, output)
    raise typer.Exit(EXIT_DONE)


def _questions(file: Path | None, database: Database, output: Output) -> Questions:
    """Return the questions to ask: of a file, else asked before, else drafted from the site."""
    if file is not None:
        texts = tuple(known.question for known in read_questions(file))
        return Questions(source="file", texts=texts)
    traced = _asked_before(database, output)
    if traced:
        return Questions(source="traces", texts=traced)
    pages = site_pages(database, database.pages.all())
    drafted = draft_questions(pages, count=DRAFTED_QUESTIONS, seed=0)
    if not drafted:
        raise ContentError(
            "no question was asked before, and none can be drafted from the site",
            hint="Give a file of questions: ragctl bench model --questions FILE.",
        )
    return Questions(source="drafts", texts=tuple(known.question for known in drafted))


def _asked_before(database: Database, output: Output) -> tuple[str, ...]:
    try:
        return tuple(database.traces.questions(at_most=TRACED_QUESTIONS))
    except DatabaseError as error:
        output.remark(f"Questions that were asked before cannot be read: {error.message}.")
        return ()


def _measured(
    asked: Questions,
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
    output: Output,
    *,
    runs: int,
) -> tuple[tuple[Timed, ...], str]:
    """Return the times, and why no model wrote where none did."""
    chosen = wiring.make_generator(settings)
    if chosen.reason:
        output.remark(
            f"Only embedding and search are timed: {chosen.reason}.",
            style="yellow",
        )
    queued = wiring.with_slots(chosen, settings, database, on_wait=_ignored)
    search = wiring.make_search(settings, database, recorded=identity)
    if search.unreached:
        output.remark(f"Questions are not embedded: {search.unreached}.", style="yellow")
    ask = _asking(queued.part, search.embedder, settings, database, identity)
    total = len(asked.texts) * runs
    with Doing(output, begun="loading the models") as doing:
        _warm_up(search.embedder, None if chosen.reason else queued.part)
        timed = time_answers(
            asked.texts,
            ask=ask,
            runs=runs,
            report=lambda done: doing.show(f"{done} of {total} answers"),
            clock=time.perf_counter,
        )
        return tuple(timed), chosen.reason


def _warm_up(embedder: Embedder | None, generator: Generator | None) -> None:
    """Have both models loaded: that happens once, and belongs to no question."""
    if embedder is not None:
        embedder.embed([TINY_PROMPT], purpose="query")
    if generator is not None:
        prompt = Prompt(text=TINY_PROMPT, question=TINY_PROMPT, template="none", passages=())
        generator.generate(prompt, on_text=_ignored)


def _asking(
    generator: Generator,
    embedder: Embedder | None,
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
) -> Ask:
    options_of_answer = answer_options(settings, database, embedding_model=identity.embedding.label)
    retriever, coverage = wiring.make_retriever(settings, database), wiring.make_coverage(database)

    def ask(
        question: str, on_prompt: Callable[[Prompt], None], on_text: Callable[[str], None]
    ) -> Answer:
        return answer(
            question,
            options=options_of_answer,
            embedder=embedder,
            retriever=retriever,
            coverage=coverage,
            generator=generator,
            on_evidence=_ignored,
            on_prompt=on_prompt,
            on_text=on_text,
            tracing=Stopwatch(clock=time.perf_counter),
        )

    return ask


def _ignored(_piece: object) -> None:
    """Take what is shown to nobody."""
