"""``ragctl trace``: what became of the questions that were asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.db.database import Database
from ragctl.errors import ContentError, UsageError
from ragctl.observe.traces import outcome_of
from ragctl.pipeline import CATALOGUE_ROUTE
from ragctl.records import Trace, TracedHit
from ragctl.settings import Settings

SHORT_ID = 13  # the milliseconds of a UUIDv7
_TEXTS_OFF = 'not kept (traces.record = "numbers")'

app = options.command_app("Show what became of a question: passages, prompt, answer, time.")

WithPrompt = Annotated[bool, typer.Option("--prompt", help="Print the exact prompt too.")]
Newest = Annotated[
    int, typer.Option("-n", metavar="N", min=1, max=10_000, help="How many, newest first.")
]


@app.callback(
    invoke_without_command=True,
    epilog="Examples: ragctl trace | ragctl trace last | ragctl trace show 0199a3c1-2b3f --prompt",
)
def trace(
    ctx: typer.Context,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the newest questions that were asked, or show one: when, how, from what, how long."""
    if ctx.invoked_subcommand is None:
        _list(_settings(site, database_url), newest=20, as_json=json)


@app.command(epilog="Example: ragctl trace last --prompt")
def last(
    prompt: WithPrompt = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show the newest question that was asked."""
    with wiring.open_database(_settings(site, database_url)) as database:
        found = find_trace(database, "last")
    _show(found, as_json=json, with_prompt=prompt)


@app.command(epilog="Example: ragctl trace show 0199a3c1-2b3f")
def show(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="The trace's id, or its first characters.")
    ],
    prompt: WithPrompt = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show one question: when, route, models, time by phase, passages, answer, problems."""
    with wiring.open_database(_settings(site, database_url)) as database:
        found = find_trace(database, identity)
    _show(found, as_json=json, with_prompt=prompt)


def find_trace(database: Database, identity: str) -> Trace:
    """Return the trace of an id, of its first characters, or the newest one for ``last``.

    Raises :class:`~ragctl.errors.ContentError` where nothing was recorded yet, else
    :class:`~ragctl.errors.UsageError` where none or several fit.
    """
    prefix = identity.strip().lower()
    if prefix == "last":
        newest = database.traces.recent(at_most=1)
        if not newest:
            raise ContentError("no question was recorded yet", hint='Ask one: ragctl ask "..."')
        return newest[0]
    found = database.traces.beginning_with(prefix, at_most=5) if prefix else []
    if not found:
        raise UsageError(
            f"there is no trace {identity!r}", hint="List them with `ragctl trace list`."
        )
    if len(found) > 1:
        raise UsageError(
            f"several traces begin with {identity!r}",
            hint="One of: " + ", ".join(candidate.id for candidate in found),
        )
    return found[0]


@app.command(name="list", epilog="Example: ragctl trace list -n 50 --json")
def list_(
    newest: Newest = 20,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """List the newest questions that were asked, a line each."""
    _list(_settings(site, database_url), newest=newest, as_json=json)


def _settings(site: str | None, database_url: str | None) -> Settings:
    return wiring.load_settings({"site.name": site, "database.url": database_url})


def _list(settings: Settings, *, newest: int, as_json: bool) -> None:
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        found = database.traces.recent(at_most=newest)
    if as_json:
        output.json({"schema": "ragctl.traces/1", "traces": [_summary(trace) for trace in found]})
        return
    if not found:
        output.remark('No question was recorded yet. Ask one: ragctl ask "..."')
        return
    length = _telling_length([trace.id for trace in found])
    table = new_table("when", "id", "outcome", "ms", "question", text_columns=(0, 1, 2, 4))
    for trace in found:
        table.add_row(
            asked_when(trace),
            trace.id[:length],
            outcome_of(trace),
            _milliseconds(trace.timings.total),
            Text(harmless(_one_line(trace.question))),
        )
    if output.fits(table):
        output.table(table)
        return
    for trace in found:
        output.line(f"{asked_when(trace)}  {trace.id[:length]}  {outcome_of(trace)}")
        output.line(f"    {_one_line(trace.question)}")


def _telling_length(identities: Sequence[str]) -> int:
    """Return how many characters tell these ids apart."""
    return next(
        length
        for length in range(SHORT_ID, 37)
        if len({identity[:length] for identity in identities}) == len(identities) or length == 36
    )


def _show(trace: Trace, *, as_json: bool, with_prompt: bool) -> None:
    output = Output(environ=os.environ)
    if as_json:
        output.json(_document(trace, with_prompt=with_prompt))
        return
    output.line(Text(harmless(trace.question or _TEXTS_OFF), style="bold"))
    output.line(f"{asked_when(trace)}  {outcome_of(trace)}  {trace.id}")
    cached = ", given again from the cache" if trace.cached else ""
    output.line(f"written by  {trace.route or 'nobody'}, prompt {trace.template}{cached}")
    output.line(f"found by    {_found_by(trace)}")
    _show_phases(trace, output)
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


def _show_phases(trace: Trace, output: Output) -> None:
    output.line()
    table = new_table("phase", "ms", "", text_columns=(0, 2))
    for span in trace.spans:
        told = ", ".join(value for value in span.attributes.values() if value)
        table.add_row(span.name, _milliseconds(span.duration_ms), Text(harmless(told)))
        if span.name == "generate":
            for name, ms, tokens in (
                ("  read", trace.timings.prefill, trace.prompt_tokens),
                ("  write", trace.timings.decode, trace.output_tokens),
            ):
                if ms is not None:
                    counted = f"{tokens:,} tokens" if tokens is not None else ""
                    table.add_row(name, _milliseconds(ms), counted)
    table.add_row("total", _milliseconds(trace.timings.total), "")
    output.table(table)


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
        fate = "cited" if hit.cited else "" if hit.in_prompt else "left out of the prompt"
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
    """Return when a question was asked, by the clock of this place."""
    return f"{trace.asked_at.astimezone():%Y-%m-%d %H:%M:%S}"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _one_line(question: str | None) -> str:
    return "-" if question is None else " ".join(question.split())


def _summary(trace: Trace) -> dict[str, object]:
    return {
        "id": trace.id,
        "asked_at": trace.asked_at.isoformat(),
        "question": trace.question,
        "outcome": outcome_of(trace),
        "route": trace.route,
        "embedding_model": trace.embedding_model,
        "tracks": list(trace.tracks),
        "pages": list(trace.pages),
        "mode": trace.mode,
        "cached": trace.cached,
        "ms": _rounded(trace.timings.total),
    }


def _document(trace: Trace, *, with_prompt: bool) -> dict[str, object]:
    timings = trace.timings
    phases = ("embed", "search", "prefill", "decode", "total")
    failed = trace.error_code is not None
    return {
        "schema": "ragctl.trace/1",
        **_summary(trace),
        "ms": {phase: _rounded(getattr(timings, phase)) for phase in phases},
        "k": trace.k,
        "template": trace.template,
        "finish": trace.finish,
        "refused": trace.refused,
        "degraded": trace.degraded,
        "tokens": {
            "prompt": trace.prompt_tokens,
            "prompt_counted": trace.prompt_counted,
            "output": trace.output_tokens,
        },
        "evidence": {
            "top_cosine": _share(trace.top_cosine),
            "idf_share": _share(trace.idf_share),
            "probability": _share(trace.probability),
        },
        "spans": [
            {
                "name": span.name,
                "start_ms": _rounded(span.start_ms),
                "duration_ms": _rounded(span.duration_ms),
                "attributes": dict(span.attributes),
            }
            for span in trace.spans
        ],
        "hits": [_hit(hit) for hit in trace.hits],
        "citations": [
            {
                "n": citation.n,
                "title": citation.title,
                "url": citation.url,
                "section": citation.section or "",
                "anchor": citation.anchor or "",
                "link": citation.link,
                "passages": list(citation.passages),
            }
            for citation in trace.citations
        ],
        "problems": [
            {"code": problem.code, "message": problem.message} for problem in trace.problems
        ],
        "answer": trace.answer,
        "error": {"code": trace.error_code, "message": trace.error_message} if failed else None,
        **({"prompt": trace.prompt} if with_prompt else {}),
    }


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _hit(hit: TracedHit) -> dict[str, object]:
    return {
        "rank": hit.rank,
        "chunk_id": hit.chunk_id,
        "ref": hit.ref,
        "section": hit.section or "",
        "score": round(hit.score, 6),
        "vector_score": None if hit.vector_score is None else round(hit.vector_score, 6),
        "keyword_score": hit.keyword_score,
        "in_prompt": hit.in_prompt,
        "cited": hit.cited,
        "named": hit.named,
    }


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 1)
