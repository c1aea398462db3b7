"""``ragctl eval``: how good it is, measured on questions with known answers."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Annotated

import click
import typer
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.db.database import Database
from ragctl.errors import ContentError, ModelUnreachable
from ragctl.evaluate.questions import KnownQuestion, read_questions
from ragctl.evaluate.retrieval import (
    Figures,
    Scored,
    evaluate_retrieval,
    figures,
    prompt_tokens,
)
from ragctl.records import IndexIdentity
from ragctl.settings import Settings
from ragctl.stages.tokens import TOKEN_COUNTER

SECONDS_BETWEEN_LINES = 5.0
_BATCH = 16  # questions embedded at once

app = options.command_app("Measure how well passages are found for known questions.", is_group=True)


@app.callback()
def evaluate() -> None:
    """Measure how well passages are found for known questions."""


@app.command(epilog="Example: ragctl eval retrieval questions.jsonl --json > retrieval.json")
def retrieval(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Questions with their gold pages and facts, one JSON a line."
        ),
    ],
    k: Annotated[
        int | None, typer.Option("-k", metavar="N", help="How many passages are looked at.")
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            "--mode",
            metavar="MODE",
            click_type=click.Choice(["hybrid", "vector", "keyword"]),
            help="How passages are found: hybrid, vector or keyword; several are compared.",
        ),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Find passages for known questions and say how often page, section and facts are there.

    Figures are shares of the questions that name a gold page. The file has one question a line:
    {"id", "question", "kind", "gold": [{"url", "section"}], "must_contain": [...]}.
    """
    settings = wiring.load_settings(
        {"site.name": site, "database.url": database_url, "retrieval.k": k}
    )
    questions = read_questions(file)
    modes = tuple(dict.fromkeys(mode or [settings.retrieval.mode]))
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        identity = database.identity.load()
        if identity is None or database.chunks.count() == 0:
            raise ContentError(
                "nothing has been ingested yet",
                hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
            )
        _remark_unknown_pages(questions, database, output)
        scored = {
            each: _scored(questions, _in_mode(settings, each), database, identity, output)
            for each in modes
        }
    if json:
        output.json(_document(scored, file, identity, k=settings.retrieval.k))
        return
    output.table(_table(scored, k=settings.retrieval.k))
    output.remark(
        f"{identity.chunker}, {identity.embedding.label}, {', '.join(modes)}; "
        f"tokens: {TOKEN_COUNTER}"
    )


def _in_mode(settings: Settings, mode: str) -> Settings:
    return replace(settings, retrieval=replace(settings.retrieval, mode=mode))


def _remark_unknown_pages(
    questions: Sequence[KnownQuestion], database: Database, output: Output
) -> None:
    """Say which gold pages are not in the database: no retrieval can find them."""
    known = {page.url for page in database.pages.all()}
    unknown = sorted({gold.url for each in questions for gold in each.gold} - known)
    if unknown:
        shown = ", ".join(unknown[:5]) + (" …" if len(unknown) > 5 else "")
        output.remark(
            f"warning: {len(unknown)} gold pages are not in the database: {shown}", style="yellow"
        )


def _scored(
    questions: Sequence[KnownQuestion],
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
    output: Output,
) -> list[Scored]:
    search = wiring.make_search(settings, database, recorded=identity)
    if search.unreached:
        raise ModelUnreachable(search.unreached, hint="Give --mode keyword to do without.")
    generation = settings.generation
    with _Progress(output, total=len(questions)) as progress:
        return list(
            evaluate_retrieval(
                questions,
                embedder=search.embedder,
                retriever=search.retriever,
                k=settings.retrieval.k,
                batch_size=_BATCH,
                prompt_tokens=partial(
                    prompt_tokens,
                    template=generation.prompt,
                    budget_tokens=wiring.prompt_budget(settings),
                    least_share=settings.retrieval.least_share,
                ),
                report=progress.show,
            )
        )


class _Progress:
    """How many questions are done: on a terminal all the time, elsewhere a line now and then."""

    def __init__(self, output: Output, *, total: int) -> None:
        self._output = output
        self._total = total
        self._last_line = time.monotonic()
        self._status = Status(self._line(0), console=output.remarks) if output.is_live else None

    def __enter__(self) -> _Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, done: int) -> None:
        """Take how many questions are done."""
        now = time.monotonic()
        if self._status is not None:
            self._status.update(self._line(done))
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._output.remark(self._line(done))

    def _line(self, done: int) -> str:
        return f"{done} of {self._total} questions"


def _table(scored: Mapping[str, Sequence[Scored]], *, k: int) -> Table:
    """Return a row a kind and one for all; of several modes the row for all of each."""
    by_mode = {mode: figures(each) for mode, each in scored.items()}
    rows = [(row.kind, row) for each in by_mode.values() for row in each]
    if len(by_mode) > 1:
        rows = [(mode, each[-1]) for mode, each in by_mode.items()]
    table = new_table(
        *(
            "kind" if len(by_mode) == 1 else "mode",
            "questions",
            "with gold",
            "pages@1",
            f"pages@{k}",
            f"sections@{k}",
        ),
        *(f"facts@{k}", "MRR", "tokens median", "p90"),
    )
    for name, row in rows:
        if len(by_mode) == 1 and row is rows[-1][1]:
            table.add_section()
        table.add_row(
            Text(harmless(name)),
            f"{row.questions:,}",
            f"{row.with_gold:,}",
            *(
                "-" if share is None else f"{share:.2f}"
                for share in (
                    row.pages_at_1,
                    row.pages_at_k,
                    row.sections_at_k,
                    row.facts_at_k,
                    row.mrr,
                )
            ),
            f"{row.prompt_tokens_median:,}",
            f"{row.prompt_tokens_p90:,}",
        )
    return table


def _document(
    scored: Mapping[str, Sequence[Scored]], file: Path, identity: IndexIdentity, *, k: int
) -> dict[str, object]:
    """Return ``ragctl.eval_retrieval/1``: the first mode's figures, and those of all by mode."""
    documents = [{"mode": mode, **_mode_document(each)} for mode, each in scored.items()]
    return {
        "schema": "ragctl.eval_retrieval/1",
        "file": str(file),
        "k": k,
        "embedding": identity.embedding.label,
        "chunker": identity.chunker,
        "chunker_parameters": dict(identity.chunker_parameters),
        "token_counter": TOKEN_COUNTER,
        **documents[0],
        "modes": documents,
    }


def _mode_document(scored: Sequence[Scored]) -> dict[str, object]:
    *kinds, overall = figures(scored)
    return {
        "overall": _figures_document(overall),
        "kinds": [_figures_document(row) for row in kinds],
        "questions": [_scored_document(each) for each in scored],
    }


def _figures_document(row: Figures) -> dict[str, object]:
    return {
        "kind": row.kind,
        "questions": row.questions,
        "with_gold": row.with_gold,
        "pages_at_1": _rounded(row.pages_at_1),
        "pages_at_k": _rounded(row.pages_at_k),
        "sections_at_k": _rounded(row.sections_at_k),
        "facts_at_k": _rounded(row.facts_at_k),
        "mrr": _rounded(row.mrr),
        "prompt_tokens": {"median": row.prompt_tokens_median, "p90": row.prompt_tokens_p90},
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def _scored_document(each: Scored) -> dict[str, object]:
    return {
        "id": each.question.id,
        "kind": each.question.kind,
        "question": each.question.question,
        "gold": [{"url": gold.url, "section": gold.section or ""} for gold in each.question.gold],
        "page_rank": each.page_rank,
        "section_rank": each.section_rank,
        "missing_facts": None if each.missing is None else list(each.missing),
        "prompt_tokens": each.prompt_tokens,
        "passages": [
            {
                "n": hit.n,
                "ref": hit.ref,
                "section": hit.section or "",
                "score": round(hit.score, 6),
            }
            for hit in each.hits
        ],
    }
