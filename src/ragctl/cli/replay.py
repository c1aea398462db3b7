"""``ragctl ask --replay``: a stored request run again from a stage, and what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import click
import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli.answering import Answering
from ragctl.cli.documents import Document, answer_document
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted
from ragctl.errors import EXIT_DONE, EXIT_INCOMPLETE, UsageError
from ragctl.records.answers import Answer
from ragctl.replay.stored import STAGES, Stage, Standing, require_replayable

if TYPE_CHECKING:  # loaded where something is replayed: every call of ask reads this module
    from ragctl.db.database import Database
    from ragctl.pipeline.answer import AnswerOptions
    from ragctl.protocols import Generator
    from ragctl.records.traces import Trace
    from ragctl.replay.changes import Changes, Differs, Pair
    from ragctl.replay.running import Replayed
    from ragctl.settings import Settings

ReplayedTrace = Annotated[
    str | None,
    typer.Option(
        "--replay",
        metavar="TRACE",
        help="In place of a question, run a stored one again (an id of `ragctl trace`, its "
        "first characters, or last) and show what changed; nothing is recorded.",
    ),
]
FromStage = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="STAGE",
        click_type=click.Choice(list(STAGES)),
        help="Where a replay begins: render (the stored passages; the default), generate (the "
        "stored prompt) or check (the stored answer).",
    ),
]
ShowAnswer = Callable[[Answer, Output, str | None], None]
"""Prints an answer as ``ragctl ask`` does; the last is the content root."""

_SIGNS = {"added": "+", "removed": "-", "changed": "~"}
_STATES = {
    "changed": "has changed since",
    "unknown": "was stored anew, and was not sent then: whether it changed is not known",
    "gone": "is gone",
}


def require_replay_options(
    stage: str | None, *, replays: bool, has_question: bool, others: Mapping[str, object]
) -> None:
    """Raise :class:`~ragctl.errors.UsageError` for options that mean nothing together.

    ``others`` are the options of ``ask`` by name that a replay has no use for, ``--model`` and
    ``--prompt`` where the stage does not write or render.
    """
    if not replays:
        if stage is not None:
            raise UsageError("--from goes with --replay", hint="Name a trace: --replay last.")
        return
    if has_question:
        raise UsageError(
            "a question and --replay were given together",
            hint="A replay takes the question of the trace: leave yours out.",
        )
    if stage in ("generate", "check") and others.get("--prompt"):
        raise UsageError(
            f"from {stage} the stored prompt is taken as it is", hint="Give --from render."
        )
    if stage == "check" and (others.get("--model") or others.get("--no-model")):
        raise UsageError(
            "from check nothing is written anew", hint="Give --from generate, or --from render."
        )
    of_use = ("--model", "--no-model", "--prompt")
    unused = [name for name, value in others.items() if value and name not in of_use]
    if unused:
        raise UsageError(
            f"--replay takes question and passages from the trace: {', '.join(unused)} "
            "cannot change them",
            hint='Ask anew: ragctl ask "..."',
        )


def replay_and_show(
    identity: str,
    settings: Settings,
    output: Output,
    *,
    stage: str | None,
    options: Callable[[Settings, Trace, Database], AnswerOptions],
    show: ShowAnswer,
    as_json: bool,
    with_prompt: bool,
) -> int:
    """Run a stored request again, print its answer and what changed, return the exit code.

    Nothing is recorded: a trace says what a reader was told.
    """
    from ragctl.cli.trace import find_trace
    from ragctl.cli.trace_show import asked_when
    from ragctl.replay.changes import changes_of
    from ragctl.replay.running import replay

    from_stage = next((each for each in STAGES if each == stage), STAGES[0])
    answering = Answering(
        output,
        as_json=as_json,
        with_prompt=with_prompt,
        checks_first=False,
        clock=time.perf_counter,
    )
    with wiring.open_database(settings) as database:
        trace = find_trace(database, identity)
        require_replayable(trace, from_stage)
        root = database.site.content_root()
        if not as_json:
            output.remark(
                f"From {from_stage}, not recorded: {trace.question} ({asked_when(trace)})"
            )
            _remark_strictness(trace, settings, output)
        generator = None
        if from_stage != "check":
            wiring.admit_question(settings, database)
            generator = _generator(settings, database, output, answering.restart, as_json=as_json)
        with answering:
            done = replay(
                trace,
                from_stage,
                today=database.chunks.by_id_or_ref(
                    [hit.chunk_id for hit in trace.hits], [hit.ref for hit in trace.hits]
                ),
                pages={page.url: page for page in database.pages.all()},
                options=options(settings, trace, database),
                coverage=wiring.make_coverage(database),
                generator=generator,
                on_prompt=answering.prompt,
                on_text=answering.text,
                clock=time.perf_counter,
            )
    changes = changes_of(done)
    if as_json:
        output.json(_document(done, changes, with_prompt=with_prompt))
    else:
        show(done.answer, output, root)
        _show_changes(done, changes, output)
    return EXIT_INCOMPLETE if done.answer.finish in ("torn", "repetition") else EXIT_DONE


def _generator(
    settings: Settings,
    database: Database,
    output: Output,
    on_restart: Callable[[str], None],
    *,
    as_json: bool,
) -> Generator:
    """Return who writes; where every route fails that is an error, and no answer to compare."""
    chosen = wiring.make_generator(settings, on_restart=on_restart)
    if chosen.remark and not as_json:
        output.remark(chosen.remark, style="yellow")
    return wiring.with_slots(chosen, settings, database, on_wait=output.waiting).part


def _remark_strictness(trace: Trace, settings: Settings, output: Output) -> None:
    """Say that all of the answer is shown, where statements were or would be left out of it."""
    was_strict = any(problem.code == "left_out" for problem in trace.problems)
    if was_strict or settings.checks.strict_citations:
        output.remark("Strict citations are not applied in a replay: the whole answer is shown.")


def _show_changes(done: Replayed, changes: Changes, output: Output) -> None:
    """Print a line for each thing that is compared, and below it what came and went."""
    output.line()
    output.line(Text("What changed", style="bold"))
    _line("passages", _standing_words(done.passages), output)
    for each in done.passages:
        if each.state != "same":
            name = f"[{each.traced.rank}] {each.traced.ref}"
            _line("", f"{name} {_STATES[each.state]}{_used(done.stage, each)}", output)
    _show_differences(changes.passages, output)
    _line("template", _pair(changes.template), output)
    same = "" if not changes.prompt_is_same else ", the same to the letter"
    _line("prompt", f"{_pair(changes.tokens, ' tokens')}{same}", output)
    _line("route", _pair(changes.route), output)
    _line("outcome", _pair(changes.outcome), output)
    _line("citations", "" if changes.citations else "the same", output)
    _show_differences(changes.citations, output)
    _line("claims", _claims(changes.claims), output)
    _line("problems", "" if changes.problems else "the same", output)
    _show_differences(changes.problems, output)
    _line("answer", "the same" if changes.is_same_text else "", output)
    if not changes.is_same_text:
        for mark, sentence in changes.text:
            style = {"+": "green", "-": "red"}.get(mark, "")
            output.line(Text(harmless(f"  {mark} {sentence}"), style=style))


def _line(name: str, told: str, output: Output) -> None:
    output.line(f"{name:<10} {told}".rstrip())


def _show_differences(differences: Sequence[Differs], output: Output) -> None:
    for each in differences:
        how = f": {each.how}" if each.how else ""
        output.line(f"  {_SIGNS[each.kind]} {each.name}{how}")


def _standing_words(passages: Sequence[Standing]) -> str:
    same = sum(each.state == "same" for each in passages)
    return f"{same:,} of {counted(len(passages), 'passage')} as they were"


def _used(stage: Stage, each: Standing) -> str:
    if stage == "render":
        return ", left out" if each.now is None else ", taken as it is today"
    return ", taken from the prompt" if each.traced.in_prompt else ""


def _pair(pair: Pair[str] | Pair[int | None], unit: str = "") -> str:
    before, after = (_word(value) for value in (pair.before, pair.after))
    return f"{after}{unit}, as before" if pair.is_same else f"{before} → {after}{unit}"


def _word(value: str | int | None) -> str:
    return f"{value:,}" if isinstance(value, int) else value or "none"


def _claims(claims: Pair[Mapping[str, int] | None]) -> str:
    after = _counts(claims.after)
    if claims.before is None:
        return f"{after} (by today's check; verdicts of then are not kept)"
    if claims.is_same:
        return f"{after}, as before (both by today's check)"
    return f"{_counts(claims.before)} → {after} (both by today's check)"


def _counts(counts: Mapping[str, int] | None) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in (counts or {}).items()) or "none"


def _document(done: Replayed, changes: Changes, *, with_prompt: bool) -> Document:
    """Return ``ragctl.replay/1``."""
    trace = done.trace
    return {
        "schema": "ragctl.replay/1",
        "trace_id": trace.id,
        "asked_at": trace.asked_at.isoformat(),
        "question": trace.question,
        "from": done.stage,
        "recorded": False,
        "passages": [
            {
                "rank": each.traced.rank,
                "ref": each.traced.ref,
                "state": each.state,
                "in_prompt": each.traced.in_prompt,
            }
            for each in done.passages
        ],
        "before": {
            "answer": trace.answer,
            "finish": trace.finish,
            "problems": [{"code": p.code, "message": p.message} for p in trace.problems],
        },
        "answer": answer_document(done.answer, include_prompt=with_prompt),
        "changes": _changes_document(changes),
    }


def _changes_document(changes: Changes) -> Document:
    return {
        "template": _pair_document(changes.template),
        "route": _pair_document(changes.route),
        "prompt_tokens": _pair_document(changes.tokens),
        "prompt_is_same": changes.prompt_is_same,
        "outcome": _pair_document(changes.outcome),
        "refused": _pair_document(changes.refused),
        "passages_in_prompt": _differences(changes.passages),
        "text_is_same": changes.is_same_text,
        "text": [{"mark": mark.strip(), "sentence": sentence} for mark, sentence in changes.text],
        "citations": _differences(changes.citations),
        "claims": {**_pair_document(changes.claims), "checked_by": "today's check, both"},
        "problems": _differences(changes.problems),
    }


def _pair_document(
    pair: Pair[str] | Pair[int | None] | Pair[bool] | Pair[Mapping[str, int] | None],
) -> Document:
    return {"before": pair.before, "after": pair.after}


def _differences(differences: Sequence[Differs]) -> list[Document]:
    return [{"kind": each.kind, "name": each.name, "how": each.how} for each in differences]
