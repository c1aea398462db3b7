"""``ragctl eval answers``: what comes of known questions, from retrieval to the checked answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.eval_answers_shown import BOUND_NAMES, answers_document, show_answers
from ragctl.cli.eval_store import new_id, require_index, run_base, store_runs
from ragctl.cli.eval_tables import show_broken
from ragctl.cli.output import Output
from ragctl.cli.progress import Doing
from ragctl.cli.render import counted
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, UsageError
from ragctl.evaluate.answer_runs import (
    MeasuredAnswers,
    answer_outcomes,
    answers_run,
    compare_answers,
)
from ragctl.evaluate.answers import SHARES, ScoredAnswer, answer_means, evaluate_answers
from ragctl.evaluate.bounds import broken_bounds, parse_bounds
from ragctl.evaluate.questions import KnownQuestion, open_questions
from ragctl.observe.stopwatch import Stopwatch
from ragctl.pipeline.answer import answer, keyword_only, look_up
from ragctl.stages.catalogue import catalogue_passage
from ragctl.wiring.answers import answer_options

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.protocols import Generator
    from ragctl.records.answers import Answer
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings


def answers(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Questions with their gold pages and facts, one JSON a line."
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAMES",
            help="The Ollama models that answer, one after the other; several, separated by "
            "commas, are compared with the first.",
        ),
    ] = None,
    route: Annotated[
        list[str] | None,
        typer.Option(
            "--route",
            metavar="NAMES",
            help="Routes of the settings, each on its own, by name; several, separated by commas, "
            "are compared with the first.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=1, help="Ask the first N questions; nothing is stored then."
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="NAME=SHARE",
            help="End with exit code 1 where a figure is below a share from 0 to 1, for any of the "
            f"models; names: {', '.join(BOUND_NAMES)}; may be given more than once.",
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
    """Answer known questions as `ragctl ask` does, and say how good the answers are.

    No model judges: an answer is held against the labels of its question (answerable, facts, gold
    page and section) and against its own passages. Figures are by kind and for all, each with its
    95% interval by the bootstrap. No trace is recorded.
    """
    bounds = parse_bounds(fail_under or (), names=BOUND_NAMES)
    variants = _variants(model, route, site=site, database_url=database_url)
    opened = open_questions(file)
    questions = opened.questions()
    asked = questions[:limit]
    output = Output(environ=os.environ)
    with wiring.open_database(variants[0]) as database:
        identity, passages = require_index(database)
        scored = _all_scored(asked, variants, database, identity, output)
        settings = variants[0]
        base = run_base(opened, identity, passages, k=settings.retrieval.k)
        runs = [
            (answers_run(each, base, run_id=new_id(base), route=label), answer_outcomes(each))
            for label, each in scored.items()
        ]
        is_whole = len(asked) == len(questions)
        stored = store_runs(database, runs, output) if is_whole and not no_store else {}
    if not is_whole:
        output.remark(f"Not stored: {len(asked):,} of {len(questions):,} questions were asked.")
    first = next(iter(scored.values()))
    measured = MeasuredAnswers(
        file=opened,
        identity=identity,
        k=settings.retrieval.k,
        mode=settings.retrieval.mode,
        template=settings.generation.prompt,
        asked=len(asked),
        scored=scored,
        comparisons={
            route: compare_answers(first, each)
            for route, each in scored.items()
            if each is not first
        },
        broken=broken_bounds(bounds, {route: _shares(each) for route, each in scored.items()}),
        stored=stored,
    )
    if json:
        output.json(answers_document(measured))
    else:
        show_answers(measured, output)
    show_broken(measured.broken, output)
    raise typer.Exit(EXIT_FINDINGS if measured.broken else EXIT_DONE)


def _variants(
    model: Sequence[str] | None,
    route: Sequence[str] | None,
    *,
    site: str | None,
    database_url: str | None,
) -> list[Settings]:
    """Return the settings of each model, of each route alone, or just those in force."""
    if model and route:
        raise UsageError("--model and --route exclude each other", hint="Leave one out.")
    if not route:
        return [_settings(name, site=site, database_url=database_url) for name in _names(model)]
    settings = _settings(None, site=site, database_url=database_url)
    known = {each.name: each for each in settings.routes}
    for name in _names(route):
        if name not in known:
            raise UsageError(
                f"there is no route {name!r} in the settings",
                hint=f"Routes: {', '.join(known) or 'none; see the handbook, operate/14-gateway'}.",
            )
    return [replace(settings, routes=(known[str(name)],)) for name in _names(route)]


def _names(given: Sequence[str] | None) -> list[str | None]:
    names = [name.strip() for each in given or () for name in each.split(",")]
    return list(dict.fromkeys(name for name in names if name)) or [None]


def _settings(model: str | None, *, site: str | None, database_url: str | None) -> Settings:
    return wiring.load_settings(
        {
            "site.name": site,
            "database.url": database_url,
            "generation.model": model,
            "generation.provider": "ollama" if model else None,
        }
    )


def _shares(scored: Sequence[ScoredAnswer]) -> dict[str, float | None]:
    means = answer_means(scored)
    return {name: means[name] for name in SHARES}


def _all_scored(
    questions: Sequence[KnownQuestion],
    variants: Sequence[Settings],
    database: Database,
    identity: IndexIdentity,
    output: Output,
) -> dict[str, list[ScoredAnswer]]:
    """Return the answers by route; all models are looked for before the first one writes."""
    generators: dict[str, Generator] = {}
    for settings in variants:
        chosen = wiring.make_generator(settings)
        if chosen.remark:
            output.remark(chosen.remark, style="yellow")
        chosen = wiring.with_slots(chosen, settings, database, on_wait=_ignored)
        generators.setdefault(chosen.part.name, chosen.part)
    scored = {}
    with _Progress(output, total=len(questions) * len(generators)) as progress:
        for route, generator in generators.items():
            ask = _asking(generator, variants[0], database, identity)
            told = progress.of(route)
            scored[route] = list(
                evaluate_answers(questions, ask=ask, report=told, clock=time.perf_counter)
            )
    return scored


def _asking(
    generator: Generator, settings: Settings, database: Database, identity: IndexIdentity
) -> Callable[[str], Answer]:
    """Return what answers a question as ``ragctl ask`` does, without a word on the way."""
    search = wiring.make_search(settings, database, recorded=identity)
    options_of_answer = answer_options(settings, database, embedding_model=identity.embedding.label)
    catalogue = wiring.make_catalogue(database)
    coverage = wiring.make_coverage(database)

    def ask(question: str) -> Answer:
        listed = look_up(
            question,
            catalogue,
            options=options_of_answer,
            on_text=_ignored,
            tracing=Stopwatch(clock=time.perf_counter),
        )
        if listed is not None:
            return listed
        found = answer(
            question,
            options=options_of_answer,
            embedder=search.embedder,
            retriever=search.retriever,
            coverage=coverage,
            generator=generator,
            on_evidence=_ignored,
            on_prompt=_ignored,
            on_text=_ignored,
            tracing=Stopwatch(clock=time.perf_counter),
            about_site=catalogue_passage(question, catalogue) or "",
        )
        if search.unreached:
            told = keyword_only(search.unreached)
            found = replace(found, problems=(told, *found.problems))
        return found

    return ask


def _ignored(_piece: object) -> None:
    """Take a piece of an answer that nobody reads while it comes."""


class _Progress:
    """How many questions of all models are done, and how long the rest will take."""

    def __init__(self, output: Output, *, total: int) -> None:
        self._doing = Doing(output, begun=f"0 of {total:,} questions")
        self._total = total
        self._done = 0
        self._began = time.monotonic()

    def __enter__(self) -> _Progress:
        self._doing.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._doing.__exit__(None, None, None)
        if error is not None and not isinstance(error, Exception):
            done = f"{self._done:,} of {counted(self._total, 'question')}"
            error.add_note(f"Stopped after {done}; nothing was stored.")

    def of(self, route: str) -> Callable[[int], None]:
        """Return what takes how many questions of one route are done."""
        before = self._done

        def told(done: int) -> None:
            self._done = before + done
            a_question = (time.monotonic() - self._began) / self._done
            left = _duration(a_question * (self._total - self._done))
            self._doing.show(
                f"{self._done:,} of {self._total:,} questions, {route}, about {left} left"
            )

        return told


def _duration(seconds: float) -> str:
    if seconds < 90:
        return counted(round(seconds), "second")
    if seconds < 90 * 60:
        return counted(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"
