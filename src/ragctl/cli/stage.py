"""``ragctl stage``: one stage of the pipeline, from the files before it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl import wiring
from ragctl.artifacts.manifest import Folder
from ragctl.artifacts.retrieved import RETRIEVED_FILE, read_retrieved
from ragctl.cli import options
from ragctl.cli.artifacts import generation_parameters, whole_answer_document
from ragctl.cli.output import Output
from ragctl.cli.question import usable_question
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, UsageError
from ragctl.records.vectors import IndexIdentity
from ragctl.staging import answered, indexed
from ragctl.staging.reading import Content, recorded_content, recorded_embedding
from ragctl.wiring.answers import answer_options

if TYPE_CHECKING:
    from ragctl.protocols import Embedder
    from ragctl.settings import Settings
    from ragctl.staging.running import StageRun

_EXAMPLE = 'ragctl stage retrieve --from build --question "What is RCU?"'

app = options.command_app("Run one stage of the pipeline from the files before it.")


class StageName(StrEnum):
    """The stages in their order."""

    PARSE = "parse"
    CHUNK = "chunk"
    EMBED = "embed"
    INDEX = "index"
    RETRIEVE = "retrieve"
    RENDER = "render"
    GENERATE = "generate"
    CHECK = "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What the user asked for."""

    folder: Path
    settings: Settings
    output: Output
    root: Path | None
    question: str | None
    tracks: tuple[str, ...]
    force: bool
    json: bool


@app.command(
    epilog="Example: ragctl stage chunk --from build | "
    'ragctl stage retrieve --from build --question "What is RCU?"',
)
def stage(
    name: Annotated[StageName, typer.Argument(metavar="STAGE", help=", ".join(StageName))],
    folder: Annotated[
        Path,
        typer.Option(
            "--from",
            metavar="DIR",
            help="The folder of artifacts: the stage reads and writes its files there.",
        ),
    ],
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="PATH",
            help="parse: the content folder; default: the one that DIR was made from.",
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            "--question",
            metavar="QUESTION",
            help="retrieve: the question; default: the one in retrieved.json.",
        ),
    ] = None,
    track: options.Tracks = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run it even if nothing that it reads has changed.")
    ] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run one stage from the files before it, without a database, and write its own files.

    A stage is skipped where its inputs and parameters are those of its last run. Parameters come
    from the settings; retrieve compares the question with every vector and knows no other search.
    """
    output = Output(environ=os.environ)
    call = _Call(
        folder=folder,
        settings=wiring.load_settings({}),
        output=output,
        root=root,
        question=None if question is None else usable_question(question, example=_EXAMPLE),
        tracks=tuple(track or ()),
        force=force,
        json=json,
    )
    _require_fitting(name, call)
    began = time.perf_counter()
    run = _STAGES[name](call)
    seconds = time.perf_counter() - began
    if json:
        output.json(stage_document(run, folder=folder, seconds=seconds))
    else:
        _show(run, output, seconds=seconds)
    raise typer.Exit(EXIT_FINDINGS if run.open else EXIT_DONE)


def _require_fitting(name: StageName, call: _Call) -> None:
    if call.root is not None and name is not StageName.PARSE:
        raise UsageError(
            "--root belongs to the stage parse",
            hint="Leave it out: the files before hold the pages.",
        )
    if (call.question or call.tracks) and name is not StageName.RETRIEVE:
        raise UsageError(
            "--question and --track belong to the stage retrieve", hint="Leave them out."
        )


def _parse(call: _Call) -> StageRun:
    site = call.settings.site
    recorded = recorded_content(call.folder)
    if call.root is not None:
        content = Content(
            root=os.path.realpath(call.root), tracks=site.tracks, exclude=site.exclude
        )
    elif recorded is None:
        raise UsageError(
            "parse needs the content folder",
            hint=f"ragctl stage parse --from {call.folder} --root website/src/content",
        )
    else:
        content = recorded
    parser = wiring.make_parser(call.settings)
    return indexed.run_parse(call.folder, content, parser, force=call.force)


def _chunk(call: _Call) -> StageRun:
    chunker = wiring.make_chunker(call.settings)
    return indexed.run_chunk(call.folder, chunker, force=call.force)


def _embed(call: _Call) -> StageRun:
    embedding = call.settings.embedding
    is_free = embedding.provider == "auto" and not embedding.model
    embedder = _embedder(call, pinned=is_free)
    return indexed.run_embed(
        call.folder,
        embedder,
        batch_size=embedding.batch_size,
        in_flight=embedding.in_flight,
        on_count=_Counter(call.output, time.monotonic),
        force=call.force,
    )


def _index(call: _Call) -> StageRun:
    return indexed.run_index(call.folder, force=call.force)


def _retrieve(call: _Call) -> StageRun:
    question, tracks = call.question, call.tracks
    pages: tuple[str, ...] = ()
    mode = call.settings.retrieval.mode
    Folder(call.folder)
    if question is None and (call.folder / RETRIEVED_FILE).is_file():
        before = read_retrieved(call.folder)
        question, tracks, pages = before.question, tracks or before.tracks, before.pages
        mode = before.mode or mode
    if question is None:
        raise UsageError("retrieve needs a question", hint='Give one: --question "What is RCU?"')
    call.output.remark("Searching by vectors alone: an exact comparison with every row.")
    if mode != answered.VECTOR_MODE:
        call.output.remark(
            f"The mode {mode} needs the database: `ragctl ask --artifacts` may find other passages "
            "than this stage.",
            style="yellow",
        )
    return answered.run_retrieve(
        call.folder,
        question,
        _embedder(call, pinned=True),
        k=call.settings.retrieval.k,
        tracks=tracks,
        pages=pages,
        force=call.force,
    )


def _render(call: _Call) -> StageRun:
    options_of_answer = answer_options(
        call.settings, embedding_model=answered.embedding_model_of(call.folder)
    )
    return answered.run_render(
        call.folder,
        template=options_of_answer.template,
        budget_tokens=options_of_answer.budget_tokens,
        least_share=options_of_answer.least_share,
        force=call.force,
    )


def _generate(call: _Call) -> StageRun:
    generator = wiring.make_generator(call.settings)
    if generator.remark:
        call.output.remark(generator.remark, style="yellow")
    run = answered.run_generate(
        call.folder,
        generator.part,
        parameters=generation_parameters(call.settings),
        on_text=_ignored if call.json else call.output.stream,
        force=call.force,
    )
    if not run.skipped and not call.json:
        call.output.line()
    return run


def _check(call: _Call) -> StageRun:
    options_of_answer = answer_options(call.settings)
    return answered.run_check(
        call.folder, options_of_answer, whole_answer_document, force=call.force
    )


_STAGES: Mapping[StageName, Callable[[_Call], StageRun]] = {
    StageName.PARSE: _parse,
    StageName.CHUNK: _chunk,
    StageName.EMBED: _embed,
    StageName.INDEX: _index,
    StageName.RETRIEVE: _retrieve,
    StageName.RENDER: _render,
    StageName.GENERATE: _generate,
    StageName.CHECK: _check,
}


def _embedder(call: _Call, *, pinned: bool) -> Embedder:
    """Return the embedder; ``pinned`` to the model that made the folder's vectors."""
    made_with = recorded_embedding(call.folder) if pinned else None
    index = (
        IndexIdentity(embedding=made_with, chunker="", chunker_parameters={})
        if made_with is not None
        else None
    )
    chosen = wiring.make_embedder(call.settings, recorded=index)
    if chosen.remark:
        call.output.remark(chosen.remark)
    return chosen.part


class _Counter:
    """Says every few seconds how many passages were embedded."""

    def __init__(self, output: Output, clock: Callable[[], float]) -> None:
        self._output = output
        self._clock = clock
        self._last = clock()

    def __call__(self, count: int) -> None:
        now = self._clock()
        if now - self._last >= 5:
            self._last = now
            self._output.remark(f"{count:,} passages embedded")


def _ignored(_text: str) -> None:
    """Take a piece of an answer that is printed later or not at all."""


def stage_document(run: StageRun, *, folder: Path, seconds: float) -> dict[str, object]:
    """Return ``ragctl.stage/1``."""
    return {
        "schema": "ragctl.stage/1",
        "stage": run.stage,
        "folder": str(folder),
        "skipped": run.skipped,
        "files": list(run.files),
        "counts": dict(run.counts),
        "open_identities": list(run.open),
        "seconds": round(seconds, 3),
    }


def _show(run: StageRun, output: Output, *, seconds: float) -> None:
    files = ", ".join(run.files)
    if run.skipped:
        output.line(f"{run.stage}: nothing to do, {files} is made from these inputs already")
    else:
        output.line(f"{run.stage}: {_told(run.counts)} -> {files}  ({seconds:.1f} s)")
    for name in run.open:
        output.remark(f"DOES NOT CLOSE: {name} (see manifest.json)", style="red")


def _told(counts: Mapping[str, Any]) -> str:
    """Return counts in words; of lists their length, and nothing that is empty."""
    parts = []
    for name, value in counts.items():
        words = name.replace("_", " ")
        if isinstance(value, list):
            if value:
                parts.append(f"{len(value)} {words}")
        elif isinstance(value, float):
            parts.append(f"{words} {value:.4f}")
        elif isinstance(value, int) and not isinstance(value, bool):
            parts.append(f"{value:,} {words}")
        elif value:
            parts.append(f"{words} {value}")
    return ", ".join(parts)
