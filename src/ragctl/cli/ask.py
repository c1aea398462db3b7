"""``ragctl ask``: a question, an answer, and where it comes from."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.answer_shown import show_below
from ragctl.cli.asking import Request, ask_and_show
from ragctl.cli.caching import cache_use
from ragctl.cli.output import Output
from ragctl.cli.question import read_question, usable_question
from ragctl.cli.replay import (
    FromStage,
    ReplayedTrace,
    replay_and_show,
    require_replay_options,
)
from ragctl.errors import UsageError
from ragctl.wiring.answers import answer_options

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.pipeline.answer import AnswerOptions
    from ragctl.records.traces import Trace
    from ragctl.settings import Settings

app = options.command_app("Answer a question from the site, with citations.")


@app.command(
    epilog='Examples: ragctl ask "How does the token bucket refill?" | '
    "ragctl ask --replay last --prompt strict | "
    "echo 'What is RCU?' | ragctl ask - --track kernel --json",
)
def ask(
    question: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="The question; - reads it from stdin."),
    ] = None,
    track: options.Tracks = None,
    page: options.Pages = None,
    mode: options.Mode = None,
    k: options.PassagesWanted = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The Ollama model that writes the answer."),
    ] = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Quote the passages: no model writes the answer.")
    ] = False,
    replay: ReplayedTrace = None,
    from_stage: FromStage = None,
    show_prompt: Annotated[
        bool, typer.Option("--show-prompt", help="Print the exact prompt before the answer.")
    ] = False,
    show_passages: Annotated[
        bool, typer.Option("--show-passages", help="Print the passages after the answer.")
    ] = False,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            metavar="PROMPT",
            help="The prompt: balanced, strict, or a file with a template of your own.",
        ),
    ] = None,
    strict_citations: Annotated[
        bool | None,
        typer.Option(
            "--strict-citations/--no-strict-citations",
            help="Leave out statements that the check finds without support. Nothing is shown "
            "before the whole answer is checked: what was read cannot be taken back.",
        ),
    ] = None,
    no_catalogue: Annotated[
        bool,
        typer.Option(
            "--no-catalogue",
            help="Answer from passages even where the list of pages has the answer.",
        ),
    ] = False,
    artifacts: options.Artifacts = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Say on stderr what took how long, with tokens and rates."
        ),
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor keep anything in the caches.")
    ] = False,
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Write the answer anew, and keep it in the caches."),
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Answer a question from the passages found for it, and print the answer with its sources.

    With --replay, a question that was asked before is run again from a stage, with today's code,
    another --model or another --prompt, and what changed is shown below the answer.
    """
    if model and no_model:
        raise UsageError("--model and --no-model exclude each other", hint="Leave one out.")
    settings = wiring.load_settings(
        {
            "site.name": site,
            "database.url": database_url,
            "retrieval.k": k,
            "retrieval.mode": mode,
            "generation.model": model,
            "generation.provider": "extractive" if no_model else "ollama" if model else None,
            "generation.prompt": prompt,
            "checks.strict_citations": strict_citations,
        }
    )
    others = {
        **{"--track": track, "--page": page, "--mode": mode, "-k": k, "--model": model},
        **{"--prompt": prompt, "--no-model": no_model, "--no-catalogue": no_catalogue},
        **{"--artifacts": artifacts},
    }
    require_replay_options(
        from_stage, replays=replay is not None, has_question=question is not None, others=others
    )
    if replay is not None:
        code = replay_and_show(
            replay,
            settings,
            Output(environ=os.environ),
            stage=from_stage,
            options=_replay_options,
            show=partial(show_below, with_passages=show_passages),
            as_json=json,
            with_prompt=show_prompt,
        )
        raise typer.Exit(code)
    if question is None:
        raise UsageError(
            "no question was given",
            hint='Ask one: ragctl ask "How does it work?", or see ragctl ask --help.',
        )
    asked = usable_question(read_question(sys.stdin) if question == "-" else question)
    request = Request(
        question=asked,
        tracks=tuple(track or ()),
        pages=tuple(page or ()),
        as_json=json,
        with_prompt=show_prompt,
        with_passages=show_passages,
        verbose=verbose,
        artifacts=artifacts,
        from_passages=no_catalogue or bool(mode or model or prompt),
        caches=cache_use(no_cache=no_cache, refresh=refresh or artifacts is not None),
    )
    code = ask_and_show(request, settings, Output(environ=os.environ))
    raise typer.Exit(code)


def _replay_options(settings: Settings, trace: Trace, database: Database) -> AnswerOptions:
    return answer_options(
        settings,
        database,
        embedding_model=trace.embedding_model,
        tracks=trace.tracks,
        pages=trace.pages,
    )
