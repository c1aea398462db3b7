"""``ragctl ask``: a question, an answer, and where it comes from."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.answering import Answering
from ragctl.cli.artifacts import beside, whole_answer_document
from ragctl.cli.caching import cache_use, say_close, say_kept, say_uncached, vector_of
from ragctl.cli.documents import answer_document
from ragctl.cli.output import Output
from ragctl.cli.render import show_nearest, show_passage, show_passages, show_sources_of
from ragctl.cli.replay import (
    FromStage,
    ReplayedTrace,
    replay_and_show,
    require_replay_options,
)
from ragctl.cli.sources import require_known_pages, require_known_tracks
from ragctl.db.database import Database
from ragctl.errors import (
    EXIT_DONE,
    EXIT_INCOMPLETE,
    ContentError,
    DatabaseError,
    DatabaseUnsuitable,
    RagctlError,
    UsageError,
)
from ragctl.freshness import changes_since
from ragctl.gateway.generator import NO_ROUTE
from ragctl.gateway.slots import NO_SLOT
from ragctl.observe.recorder import Recorder
from ragctl.pipeline import AnswerOptions, answer, keyword_only, look_up
from ragctl.protocols import Generator
from ragctl.records import Answer, Asked, Calibration, LinkStyle, Trace
from ragctl.settings import Settings
from ragctl.stages.catalogue import Catalogue, catalogue_passage
from ragctl.stages.strict import strictly

LONGEST_QUESTION = 2000
LONGEST_INPUT = 16 * 1024
"""How many characters of standard input are read for a question, blanks around it included."""

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
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many passages to answer from.")
    ] = None,
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
            on_restart=_say_restart,
            show=partial(_show, with_passages=show_passages),
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
    code = ask_and_show(
        asked,
        settings,
        Output(environ=os.environ),
        tracks=tuple(track or ()),
        pages=tuple(page or ()),
        as_json=json,
        with_prompt=show_prompt,
        with_passages=show_passages,
        artifacts=artifacts,
        from_passages=no_catalogue or bool(mode or model or prompt),
        verbose=verbose,
        caches=cache_use(no_cache=no_cache, refresh=refresh or artifacts is not None),
    )
    raise typer.Exit(code)


def read_question(stream: TextIO) -> str:
    """Return a question from a stream, which is not read to its end where it is over-long.

    Raises :class:`~ragctl.errors.UsageError` there.
    """
    text = stream.read(LONGEST_INPUT + 1)
    if len(text) > LONGEST_INPUT:
        raise UsageError(
            f"standard input holds over {LONGEST_INPUT:,} characters; a question has at most "
            f"{LONGEST_QUESTION:,}",
            hint="Ask about one thing, in a sentence or two.",
        )
    return text


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
    pages: tuple[str, ...] = (),
    as_json: bool = False,
    with_prompt: bool = False,
    with_passages: bool = False,
    artifacts: Path | None = None,
    from_passages: bool = False,
    verbose: bool = False,
    caches: wiring.CacheUse = "on",
) -> int:
    """Answer a question, print it, and return the exit code.

    A question about the site itself is answered from the list of pages, unless
    ``from_passages`` or something is asked for that only an answer from passages has.
    """
    from_passages = from_passages or bool(pages or with_prompt or with_passages or artifacts)
    is_strict = settings.checks.strict_citations
    wiring.make_template(settings)  # refused before a server is started
    with wiring.open_database(settings) as database:
        identity = database.identity.load()
        if identity is None or database.chunks.count() == 0:
            raise ContentError(
                "nothing has been ingested yet",
                hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
            )
        require_known_tracks(database.pages.tracks(), tracks)
        require_known_pages(database, pages)
        options_of_answer = answer_options(
            settings,
            tracks=tracks,
            pages=pages,
            calibration=wiring.calibration_of(database, identity.embedding.label),
            token_ratio=database.traces.token_ratio(),
        )
        root = database.site.content_root()
        asked = Asked(
            question=question,
            at=datetime.now(UTC),
            tracks=tracks,
            pages=pages,
            k=settings.retrieval.k,
            mode=settings.retrieval.mode,
            embedding_model=identity.embedding.label,
            template=options_of_answer.template.name,
        )
        with _recorder(asked, settings, database, output) as recorder:
            listed, about_site = None, ""
            if not from_passages:
                catalogue = wiring.make_catalogue(database, tracks=tracks)
                listed = _looked_up(question, catalogue, options_of_answer, recorder)
                about_site = catalogue_passage(question, catalogue) or ""
            if listed:
                _remark_changes(database, settings, root, output)
                _show_looked_up(listed, output, root=root, as_json=as_json, verbose=verbose)
                _tidy(recorder)
                return EXIT_DONE
            answering = Answering(
                output,
                as_json=as_json,
                with_prompt=with_prompt,
                checks_first=is_strict,
                clock=time.perf_counter,
            )
            show = partial(
                _show_answer,
                answering=answering,
                output=output,
                links=options_of_answer.links,
                root=root,
                as_json=as_json,
                with_prompt=with_prompt,
                with_passages=with_passages,
                verbose=verbose,
            )
            caching = wiring.make_caching(
                settings,
                database,
                recorded=identity,
                options=options_of_answer,
                about_site=about_site,
                use=caches,
                on_hint=partial(say_close, output),
                on_lost=partial(say_uncached, output),
            )
            find_search = cache(
                lambda: wiring.make_search(
                    settings, database, recorded=identity, memory=caching.memory, question=question
                )
            )
            kept = caching.answers.known(
                question, vector=lambda: vector_of(question, find_search())
            )
            if kept:
                _remark_changes(database, settings, root, output)
                say_kept(output, kept, answering)
                show(recorder.keep(kept))
                _tidy(recorder)
                return EXIT_DONE
            search = find_search()
            generator = _writer(settings, database, output, on_restart=answering.restart)
            written = artifacts and beside(
                artifacts,
                search.retriever,
                generator.part,
                options=options_of_answer,
                embedding=identity.embedding,
                settings=settings,
                root=root,
            )
            _remark_changes(database, settings, root, output)
            if generator.remark and not as_json:
                output.remark(generator.remark, style="yellow")

            with answering:
                found = answer(
                    question,
                    options=options_of_answer,
                    embedder=search.embedder,
                    retriever=written or search.retriever,
                    coverage=wiring.make_coverage(database),
                    on_evidence=answering.evidence,
                    generator=written or generator.part,
                    on_prompt=recorder.prompts(answering.prompt),
                    on_text=recorder.texts(answering.text),
                    tracing=recorder.tracing,
                    about_site=about_site,
                )
            if search.unreached:
                told = keyword_only(search.unreached)
                found = replace(found, problems=(told, *found.problems))
            if is_strict:
                found = strictly(found, links=options_of_answer.links)
            found = recorder.keep(found)
            caching.answers.keep(found, vector=caching.memory.known(question))
        if written:
            written.finish(found, whole_answer_document(found))
        show(found)
        _tidy(recorder)
    failed = any(problem.code in (NO_ROUTE, NO_SLOT) for problem in found.problems)
    return EXIT_INCOMPLETE if failed or found.finish in ("torn", "repetition") else EXIT_DONE


def _writer(
    settings: Settings, database: Database, output: Output, *, on_restart: Callable[[str], None]
) -> wiring.Chosen[Generator]:
    """Return who writes, behind the queue of the settings, where the user may ask now."""
    wiring.admit_question(settings, database)
    chosen = wiring.make_generator(
        settings,
        database=database,
        quotes_instead=True,
        on_restart=on_restart,
        on_lost=partial(_say_alone, output),
    )
    return wiring.with_slots(
        chosen, settings, database, on_wait=output.waiting, quotes_instead=True
    )


def _looked_up(
    question: str, catalogue: Catalogue, options: AnswerOptions, recorder: Recorder
) -> Answer | None:
    found = look_up(
        question,
        catalogue,
        options=options,
        on_text=recorder.texts(_ignored),
        tracing=recorder.tracing,
    )
    return recorder.keep(found) if found else None


def _show_looked_up(
    found: Answer, output: Output, *, root: str | None, as_json: bool, verbose: bool
) -> None:
    if verbose:
        output.remark(f"Route {found.route}, {found.timings.total or 0:,.1f} ms.")
    if as_json:
        output.json(answer_document(found))
        return
    output.remark("Answered from the list of pages, without a model.")
    output.stream(found.text)
    output.line()
    numbered = tuple(replace(one, passages=(one.n,)) for one in found.citations)
    _show(replace(found, citations=numbered), output, root, with_passages=False)


def _show_answer(
    found: Answer,
    *,
    answering: Answering,
    output: Output,
    links: LinkStyle,
    root: str | None,
    as_json: bool,
    with_prompt: bool,
    with_passages: bool,
    verbose: bool,
) -> None:
    """Print what follows the text of an answer, or all of it as JSON."""
    if as_json:
        output.json(answer_document(found, include_prompt=with_prompt))
    else:
        shown = answering.shown(found, links=links)
        _show(shown, output, root, with_passages=with_passages)
    if verbose:
        output.remark_table(answering.phases(found))


def answer_options(
    settings: Settings,
    *,
    tracks: tuple[str, ...],
    pages: tuple[str, ...] = (),
    calibration: Calibration | None = None,
    token_ratio: float = 1.0,
) -> AnswerOptions:
    """Return how the settings have a question answered."""
    return AnswerOptions(
        tracks=tracks,
        pages=pages,
        mode=settings.retrieval.mode,
        words_will_do=settings.retrieval.mode == "hybrid",
        k=settings.retrieval.k,
        template=wiring.make_template(settings),
        budget_tokens=wiring.prompt_budget(settings, token_ratio=token_ratio),
        least_share=settings.retrieval.least_share,
        calibration=calibration,
        links=wiring.link_style(settings),
        allowed_hosts=settings.checks.allowed_hosts,
        block=settings.checks.block,
    )


def _replay_options(settings: Settings, trace: Trace, database: Database) -> AnswerOptions:
    return answer_options(
        settings,
        tracks=trace.tracks,
        pages=trace.pages,
        calibration=wiring.calibration_of(database, trace.embedding_model),
        token_ratio=database.traces.token_ratio(),
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
        retention=wiring.retention(settings),
        on_lost=remark,
        random=os.urandom,
        clock=time.perf_counter,
    )


def _tidy(recorder: Recorder) -> None:
    """Let old traces go, now that the answer is out."""
    sys.stdout.flush()
    recorder.tidy()


def _ignored(_piece: object) -> None:
    """Take a prompt or a piece of an answer that is printed later or not at all."""


def _say_restart(output: Output, reason: str) -> None:
    """Part what was shown and broke off from the answer that is written anew below it."""
    output.stream(f"\n\n--- {reason}. The answer is written anew: ---\n\n")


def _say_alone(output: Output, error: DatabaseError) -> None:
    reason = error.message
    if isinstance(error, DatabaseUnsuitable):
        reason = "breakers cannot be written with these rights"
    output.remark(f"How the routes fare is not shared with other processes: {reason}.")


def _show(found: Answer, output: Output, root: str | None, *, with_passages: bool) -> None:
    if found.beneath:
        output.line()
        output.line(Text("What the passages say", style="bold"))
        output.line(found.beneath)
    show_sources_of(found, output, root=root)
    show_nearest(found.nearest, output, root=root)
    named = found.evidence.named_in if found.evidence and found.evidence.verdict == "weak" else 0
    if named and not with_passages and not found.citations:
        output.line()
        show_passage(next(hit for hit in found.passages if hit.n == named), output)
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
