"""One trace as people read it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import LEFT_OUT
from ragctl.cli.trace_documents import trace_document
from ragctl.observe.traces import outcome_of
from ragctl.observe.tree import rooted, walked
from ragctl.pipeline.answer import CATALOGUE_ROUTE

if TYPE_CHECKING:
    from ragctl.records.traces import SpanValue, Trace, TracedHit

_TEXTS_OFF = "not kept (traces.record, traces.sample, traces.keep_text_days)"


def show_trace(trace: Trace, *, as_json: bool, with_prompt: bool) -> None:
    """Print a trace for people, or as JSON."""
    output = Output(environ=os.environ)
    if as_json:
        output.json(trace_document(trace, with_prompt=with_prompt))
        return
    output.line(Text(harmless(trace.question or _TEXTS_OFF), style="bold"))
    output.line(f"{asked_when(trace)}  {outcome_of(trace)}  {trace.id}")
    cached = ", given again from the cache" if trace.cached else ""
    output.line(f"written by  {trace.route or 'nobody'}, prompt {trace.template}{cached}")
    output.line(f"found by    {_found_by(trace)}")
    _show_steps(trace, output)
    _show_evidence(trace, output)
    _show_hits(trace.hits, output)
    if with_prompt:
        _section("Prompt", output)
        output.line(_text(trace, trace.prompt, "it did not come to a prompt"))
    _section("Answer", output)
    output.line(_text(trace, trace.answer, "none"))
    _show_problems(trace, output)


def _found_by(trace: Trace) -> str:
    if trace.route == CATALOGUE_ROUTE:
        return "the list of pages"
    model = trace.embedding_model
    finders = {"hybrid": f"{model} and words", "keyword": "words alone"}
    told = finders.get(trace.mode or "", model)
    told += f" ({trace.mode})" if trace.mode else ""
    limits = [f"of {', '.join(names)}" for names in (trace.tracks, trace.pages) if names]
    return ", ".join((told, f"{trace.k} passages", *limits))


def _text(trace: Trace, text: str | None, absent: str) -> str:
    if text is not None:
        return text
    return _TEXTS_OFF if trace.question is None else absent


def _section(title: str, output: Output) -> None:
    output.line()
    output.line(Text(title, style="bold"))


def _show_steps(trace: Trace, output: Output) -> None:
    """Print the tree of steps; attributes go on below where the line is too short."""
    output.line()
    steps = list(walked(rooted(trace)))
    names = max(2 * depth + len(span.name) for depth, span in steps)
    output.line(Text(f"{'step':<{names}}  {'ms':>9}", style="bold"))
    room = max(output.data.width - names - 13, 20)
    for depth, span in steps:
        told = [f"{name} {_told(value)}" for name, value in span.attributes.items()]
        lines = list(_filled(told, room)) or [""]
        name = "  " * depth + span.name
        output.line(f"{name:<{names}}  {milliseconds(span.duration_ms):>9}  {lines[0]}".rstrip())
        for line in lines[1:]:
            output.line(" " * (names + 13) + line)
    output.line(f"{'total':<{names}}  {milliseconds(trace.timings.total):>9}")


def _filled(parts: Sequence[str], room: int) -> Iterator[str]:
    line = ""
    for part in parts:
        if line and len(line) + 2 + len(part) > room:
            yield line + ","
            line = part
        else:
            line = f"{line}, {part}" if line else part
    while len(line) > room and " " in line[:room]:
        shown = line[:room].rpartition(" ")[0]
        yield shown
        line = line[len(shown) + 1 :]
    if line:
        yield line


def _told(value: SpanValue) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def _show_evidence(trace: Trace, output: Output) -> None:
    if trace.idf_share is None:
        return
    told = f"the passages hold {trace.idf_share:.2f} of the question's weight in words"
    if trace.top_cosine is not None:
        told += f", top cosine {trace.top_cosine:.3f}"
    if trace.probability is not None:
        told += f": probability of an answer {trace.probability:.2f}"
    output.line()
    output.line(f"evidence: {told}")


def _show_hits(hits: Sequence[TracedHit], output: Output) -> None:
    if not hits:
        return
    output.line()
    output.line(Text("rank  score  passage", style="bold"))
    for hit in hits:
        fate = "cited" if hit.cited else "" if hit.in_prompt else LEFT_OUT
        place = f"{hit.ref} — {hit.section}" if hit.section else hit.ref
        line = f"{hit.rank:>4}  {hit.score:.3f}  {place}"
        output.line(Text.assemble(harmless(line), "  " if fate else "", (fate, "cyan")))


def _show_problems(trace: Trace, output: Output) -> None:
    if trace.error_code is not None:
        _section("Error", output)
        output.line(f"{trace.error_code}: {trace.error_message or _TEXTS_OFF}")
    if trace.problems:
        _section("Problems", output)
        for problem in trace.problems:
            output.line(f"{problem.code}: {problem.message}" if problem.message else problem.code)


def asked_when(trace: Trace) -> str:
    """Return when a question was asked, by the clock of the reader."""
    return f"{trace.asked_at.astimezone():%Y-%m-%d %H:%M:%S}"


def milliseconds(value: float | None) -> str:
    """Return a duration as it is shown."""
    return "-" if value is None else f"{value:,.1f}"


def one_line(question: str | None) -> str:
    """Return a question in one line."""
    return "-" if question is None else " ".join(question.split())
