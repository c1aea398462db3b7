"""``ragctl stats gaps``: the pages that readers miss."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted
from ragctl.cli.stats_data import MOST_QUESTIONS, GapsFound, gaps_found, period_of
from ragctl.cli.stats_overview import in_words, period_document

if TYPE_CHECKING:
    from ragctl.observe.gaps import Gap


def gaps(
    since: options.Since = "4w",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, help="How many groups at most.")
    ] = 20,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Group the questions that were not answered well into pages that could be written.

    These are questions that were refused, are probably not covered, or whose answer says what its
    passages do not. Those asked most often come first.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        found = gaps_found(database, period_of(since))
    if json:
        output.json(_document(found, limit))
        return
    if found.without_text:
        output.remark(
            f"{counted(found.without_text, 'question')} cannot be grouped: the text was not kept "
            "(traces.record)."
        )
    if found.questions == MOST_QUESTIONS:
        output.remark(f"Only the newest {MOST_QUESTIONS:,} questions were grouped.")
    if not found.gaps:
        output.remark("No question in this time is without a good answer.")
        return
    _show(found, limit, output)


def _show(found: GapsFound, limit: int, output: Output) -> None:
    questions, groups = counted(found.questions, "question"), counted(len(found.gaps), "group")
    head = f"{in_words(found.period)}: {questions} without a good answer, {groups}"
    output.line(Text(head, style="bold"))
    for gap in found.gaps[:limit]:
        output.line()
        output.line(Text.assemble(f"{gap.asked:>4,} x  ", (harmless(gap.label), "bold")))
        output.line(f"        {in_reasons(gap)}")
        for example in gap.examples:
            output.line(f"        {' '.join(example.split())}")
        if gap.pages:
            output.line(f"        nearest: {', '.join(gap.pages)}")
    if len(found.gaps) > limit:
        output.remark(f"{len(found.gaps) - limit:,} more: --limit {len(found.gaps)}")


def in_reasons(gap: Gap) -> str:
    """Return why the questions of a group count, and how often each."""
    return ", ".join(f"{number:,} {reason}" for reason, number in gap.reasons)


def _document(found: GapsFound, limit: int) -> dict[str, object]:
    return {
        "schema": "ragctl.gaps/1",
        **period_document(found.period),
        "questions": found.questions,
        "without_text": found.without_text,
        "groups": len(found.gaps),
        "gaps": [
            {
                "label": gap.label,
                "words": list(gap.words),
                "asked": gap.asked,
                "wordings": gap.wordings,
                "reasons": dict(gap.reasons),
                "pages": list(gap.pages),
                "examples": list(gap.examples),
            }
            for gap in found.gaps[:limit]
        ],
    }
