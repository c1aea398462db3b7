"""``ragctl eval lint``: whether a question file fits the site."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.eval_documents import lint_document
from ragctl.cli.eval_store import require_index, site_pages
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS
from ragctl.evaluate.lint import Finding, gold_urls
from ragctl.evaluate.lint import lint as lint_lines
from ragctl.evaluate.questions import no_questions, open_questions, question_lines


def lint(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The questions to check, one JSON a line.")
    ],
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Check a question file against the site: every line is read, and all findings are listed.

    Exit code 1 where there are any: malformed lines, pages, sections and facts that are not
    there, questions asked twice, gold that is missing or out of place. Notes fail nothing: a fact
    in another section, or in the question itself; no kind; nearly the same question of other gold.
    """
    settings = wiring.load_settings({"site.name": site, "database.url": database_url})
    output = Output(environ=os.environ)
    lines = list(question_lines(open_questions(file).text))
    if not lines:
        raise no_questions(str(file))
    with wiring.open_database(settings) as database:
        require_index(database)
        stored = database.pages.all()
        named = gold_urls(lines)
        gold = site_pages(database, [page for page in stored if page.url in named])
    findings = lint_lines(
        lines, {page.url: page for page in gold}, urls=[page.url for page in stored]
    )
    if json:
        output.json(lint_document(findings, file=str(file), questions=len(lines)))
    else:
        _show(findings, output, file=str(file), questions=len(lines))
    failed = any(not each.is_note for each in findings)
    raise typer.Exit(EXIT_FINDINGS if failed else EXIT_DONE)


def _show(findings: Sequence[Finding], output: Output, *, file: str, questions: int) -> None:
    for each in findings:
        label = ("note", "dim") if each.is_note else ("finding", "red")
        name = f"{each.id}: " if each.id else ""
        output.line(
            Text.assemble(
                harmless(f"{file}:{each.line}: "), label, harmless(f": {name}{each.message}")
            )
        )
    failed = sum(not each.is_note for each in findings)
    notes = len(findings) - failed
    found = counted(failed, "finding") if failed else "no findings"
    noted = f", {counted(notes, 'note')}" if notes else ""
    output.remark(f"{file}: {counted(questions, 'question')}, {found}{noted}.")
