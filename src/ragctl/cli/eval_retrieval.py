"""``ragctl eval retrieval``: how often what is found holds what was asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click
import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.eval_documents import retrieval_document
from ragctl.cli.eval_progress import QuestionProgress
from ragctl.cli.eval_store import new_id, require_index, run_base, store_runs
from ragctl.cli.eval_tables import show_broken, show_retrieval
from ragctl.cli.output import Output
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, ModelUnreachable
from ragctl.evaluate.bounds import broken_bounds, parse_bounds
from ragctl.evaluate.comparison import Measured, compare_searches
from ragctl.evaluate.questions import KnownQuestion, open_questions
from ragctl.evaluate.retrieval import (
    Scored,
    evaluate_retrieval,
    prompt_tokens,
    shares,
)
from ragctl.evaluate.runs import outcomes, retrieval_run
from ragctl.wiring.answers import answer_options

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

_BATCH = 16  # questions embedded at once


def retrieval(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Questions with their gold pages and facts, one JSON a line."
        ),
    ],
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many passages are looked at.")
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            click_type=click.Choice(["hybrid", "vector", "keyword"]),
            help="How passages are found: hybrid, vector or keyword; several are compared.",
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="NAME=SHARE",
            help="End with exit code 1 where a figure is below a share from 0 to 1, in any of the "
            "modes; names: facts, pages, pages@1, sections, mrr; may be given more than once.",
        ),
    ] = None,
    no_store: Annotated[
        bool,
        typer.Option("--no-store", help="Do not keep the figures for `ragctl eval history`."),
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Find passages for known questions and say how often page, section and facts are there.

    Figures are shares of the questions that name a gold page, each with its 95% interval by the
    bootstrap. Of several modes, each is held against the first. The file has one question a line:
    {"id", "question", "kind", "gold": [{"url", "section"}], "must_contain": [...]}.
    """
    settings = wiring.load_settings(
        {"site.name": site, "database.url": database_url, "retrieval.k": k}
    )
    bounds = parse_bounds(fail_under or ())
    opened = open_questions(file)
    questions = opened.questions()
    modes = tuple(dict.fromkeys(mode or [settings.retrieval.mode]))
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        identity, passages = require_index(database)
        _remark_unknown_pages(questions, database, output)
        scored = {
            each: _scored(questions, _in_mode(settings, each), database, identity, output)
            for each in modes
        }
        base = run_base(opened, identity, passages, k=settings.retrieval.k)
        runs = [
            (retrieval_run(each, base, run_id=new_id(base), mode=label), outcomes(each))
            for label, each in scored.items()
        ]
        stored = {} if no_store else store_runs(database, runs, output)
    measured = Measured(
        file=opened,
        identity=identity,
        k=settings.retrieval.k,
        scored=scored,
        comparisons={each: compare_searches(scored[modes[0]], scored[each]) for each in modes[1:]},
        broken=broken_bounds(bounds, {each: shares(found) for each, found in scored.items()}),
        stored=stored,
    )
    if json:
        output.json(retrieval_document(measured))
    else:
        show_retrieval(measured, output)
    show_broken(measured.broken, output)
    raise typer.Exit(EXIT_FINDINGS if measured.broken else EXIT_DONE)


def _in_mode(settings: Settings, mode: str) -> Settings:
    return replace(settings, retrieval=replace(settings.retrieval, mode=mode))


def _remark_unknown_pages(
    questions: Sequence[KnownQuestion], database: Database, output: Output
) -> None:
    """Say which gold pages are not in the database: no retrieval can find them."""
    known = {page.url for page in database.pages.all()}
    unknown = sorted({gold.url for each in questions for gold in each.gold} - known)
    if unknown:
        shown = ", ".join(unknown[:5]) + (" …" if len(unknown) > 5 else "")
        output.remark(
            f"warning: {len(unknown)} gold pages are not in the database: {shown}", style="yellow"
        )


def _scored(
    questions: Sequence[KnownQuestion],
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
    output: Output,
) -> list[Scored]:
    search = wiring.make_search(settings, database, recorded=identity)
    if search.unreached:
        raise ModelUnreachable(search.unreached, hint="Give --mode keyword to do without.")
    sent = answer_options(settings, database, embedding_model=identity.embedding.label)
    with QuestionProgress(output, total=len(questions)) as progress:
        return list(
            evaluate_retrieval(
                questions,
                embedder=search.embedder,
                retriever=search.retriever,
                k=settings.retrieval.k,
                batch_size=_BATCH,
                prompt_tokens=partial(
                    prompt_tokens,
                    template=sent.template,
                    budget_tokens=sent.budget_tokens,
                    least_share=sent.least_share,
                ),
                report=progress.count,
            )
        )
