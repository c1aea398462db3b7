"""``ragctl cache``: what is kept of questions and answers, and whether close ones may be served."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cache.keys import normalised
from ragctl.cli import options
from ragctl.cli.eval_store import require_index
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.errors import ModelUnreachable, UsageError
from ragctl.evaluate.close_questions import CacheFigures, cache_figures, read_groups
from ragctl.stages.same_question import differences
from ragctl.wiring.caching import stored_answers, stored_vectors

if TYPE_CHECKING:
    from ragctl.records.cached import CacheCounter, CacheStatus
    from ragctl.records.vectors import Vector
    from ragctl.settings import Settings

_BATCH = 32  # questions embedded at once

app = options.command_app(
    "Show, clear and judge the caches of answers and of questions.",
    is_group=True,
    epilog="Example: ragctl cache status",
)


@app.command(epilog="Example: ragctl cache status")
def status(
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Show what is kept, how often it served, how old and large it is, and what was dropped."""
    settings = _settings(site, database_url)
    with wiring.open_database(settings) as database:
        identity, _ = require_index(database)
        answers = stored_answers(settings, database)
        vectors = stored_vectors(settings, database, recorded=identity)
        kept = {"answers": answers.status(), "embeddings": vectors.status()}
        counters = answers.counters()
    output = Output(environ=os.environ)
    is_used = {
        "answers": settings.cache.answers == "on" and settings.traces.record == "on",
        "embeddings": settings.cache.embeddings == "on",
    }
    if json:
        output.json(_status_document(settings, kept, counters, is_used))
        return
    for name, one in kept.items():
        output.line(Text(name, style="bold"))
        output.line(f"  {_in_words(one)}{'' if is_used[name] else '; not used by the settings'}")
    if counters:
        output.line(Text("counted", style="bold"))
    for counter in counters:
        since = f"since {counter.since:%Y-%m-%d %H:%M}"
        output.line(f"  {counter.name}: {counter.counted:,} {since}")
    if settings.cache.answers == "on" and not is_used["answers"]:
        output.remark(f"No answer is kept: traces.record is {settings.traces.record}.")


@app.command(epilog="Example: ragctl cache clear --answers --yes")
def clear(
    answers: Annotated[bool, typer.Option("--answers", help="Only the answers.")] = False,
    embeddings: Annotated[
        bool, typer.Option("--embeddings", help="Only the vectors of questions.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Drop what is kept of questions and answers; without an option, both."""
    settings = _settings(site, database_url)
    both = answers == embeddings
    with wiring.open_database(settings) as database:
        identity, _ = require_index(database)
        stored = stored_answers(settings, database)
        vectors = stored_vectors(settings, database, recorded=identity)
        told = []
        if answers or both:
            told.append((stored.status().entries, "answers", stored.clear))
        if embeddings or both:
            told.append((vectors.status().entries, "vectors of questions", vectors.clear))
        _confirm(" and ".join(f"{count:,} {name}" for count, name, _ in told), yes=yes)
        dropped = [f"{drop():,} {name}" for _, name, drop in told]
    Output(environ=os.environ).line(f"dropped {' and '.join(dropped)}")


@app.command(epilog="Example: ragctl cache evaluate paraphrases.jsonl")
def evaluate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help='Groups, one JSON a line: {"id", "original", "same": [...], "traps": [...]}.',
        ),
    ],
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Measure how often close questions would get the right answer, and how often a wrong one.

    The originals are in the cache and every other question of the file is asked. Right is one of
    the same meaning that gets its original's answer; wrong is any other hit. Rows are ways of
    matching: to the character, normalised, and by cosine, without and with the guards.
    """
    settings = _settings(site, database_url)
    groups = read_groups(file)
    asked = list(dict.fromkeys(text for group in groups for text in group.questions))
    with wiring.open_database(settings) as database:
        identity, _ = require_index(database)
        search = wiring.make_search(settings, database, recorded=identity)
    if search.embedder is None:
        raise ModelUnreachable(
            search.unreached or "retrieval.mode is keyword: no question is embedded",
            hint="Close questions are found by the embedding model of the index.",
        )
    vectors: dict[str, Vector] = {}
    for start in range(0, len(asked), _BATCH):
        batch = asked[start : start + _BATCH]
        made = search.embedder.embed(batch, purpose="query")
        vectors.update(zip(batch, made, strict=True))
    figures = cache_figures(groups, vectors, normalised=normalised, differs=differences)
    output = Output(environ=os.environ)
    if json:
        model = identity.embedding.label
        output.json(_figures_document(file, model, settings.cache.threshold, figures))
        return
    _show_figures(figures, settings.cache.threshold, output)


def _settings(site: str | None, database_url: str | None) -> Settings:
    return wiring.load_settings({"site.name": site, "database.url": database_url})


def _confirm(what: str, *, yes: bool) -> None:
    if yes:
        return
    if not os.isatty(0):
        raise UsageError(f"drop {what}: nobody is there to ask", hint="Give --yes.")
    typer.confirm(f"Drop {what}?", abort=True)


def _in_words(status: CacheStatus) -> str:
    entries = f"{status.entries:,} kept"
    if status.usable is not None and status.usable != status.entries:
        entries += f", of which {status.usable:,} may still be given"
    oldest = f", the oldest from {status.oldest:%Y-%m-%d %H:%M}" if status.oldest else ""
    return f"{entries}; served {status.hits:,} times{oldest}; {status.size_bytes / 1024:,.0f} KB"


def _status_document(
    settings: Settings,
    kept: Mapping[str, CacheStatus],
    counters: Sequence[CacheCounter],
    is_used: Mapping[str, bool],
) -> dict[str, object]:
    return {
        "schema": "ragctl.cache/1",
        **{
            name: {
                "used": is_used[name],
                "entries": one.entries,
                "usable": one.entries if one.usable is None else one.usable,
                "hits": one.hits,
                "oldest": _time(one.oldest),
                "size_bytes": one.size_bytes,
            }
            for name, one in kept.items()
        },
        "semantic": settings.cache.semantic,
        "threshold": settings.cache.threshold,
        "counters": [
            {"name": one.name, "counted": one.counted, "since": _time(one.since)}
            for one in counters
        ],
    }


def _time(at: datetime | None) -> str:
    return at.isoformat() if at else ""


def _show_figures(figures: Sequence[CacheFigures], threshold: float, output: Output) -> None:
    table = new_table("match", "least cosine", "guards", "right", "wrong", text_columns=(0, 2))
    for one in figures:
        table.add_row(
            one.way,
            "-" if one.threshold is None else f"{one.threshold:.2f}",
            ("yes" if one.guarded else "no") if one.threshold is not None else "",
            f"{one.right} of {one.same}",
            f"{len(one.wrong_pairs)} of {one.asked}",
        )
    output.table(table)
    wrong = dict.fromkeys(
        pair for one in figures if one.guarded and one.threshold for pair in one.wrong_pairs
    )
    for asked, answered in wrong:
        output.line(harmless(f"wrong in spite of the guards: “{asked}” got “{answered}”"))
    output.remark(f"cache.threshold is {threshold:.2f}; cache.semantic is off by default.")


def _figures_document(
    file: Path, model: str, threshold: float, figures: Sequence[CacheFigures]
) -> dict[str, object]:
    return {
        "schema": "ragctl.cache_evaluation/1",
        "file": str(file),
        "embedding_model": model,
        "threshold": threshold,
        "ways": [
            {
                "way": one.way,
                "threshold": one.threshold,
                "guarded": one.guarded,
                "right": one.right,
                "same": one.same,
                "wrong": len(one.wrong_pairs),
                "asked": one.asked,
                "wrong_pairs": [
                    {"asked": asked, "answered": answered} for asked, answered in one.wrong_pairs
                ],
            }
            for one in figures
        ],
    }
