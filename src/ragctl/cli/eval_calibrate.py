"""``ragctl eval calibrate``: how likely passages can answer, fitted to a site and its model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.eval_progress import QuestionProgress
from ragctl.cli.eval_store import require_index
from ragctl.cli.output import Output
from ragctl.cli.render import new_table
from ragctl.errors import ModelUnreachable, UsageError
from ragctl.evaluate.calibration import FOLDS, Told, told, told_across, weigh_questions
from ragctl.evaluate.questions import KnownQuestion, open_questions
from ragctl.stages.catalogue import recognise
from ragctl.stages.evidence import LEAST_QUESTIONS, calibrate

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.records.evidence import Calibration, Evidence
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

_BATCH = 16  # questions embedded at once


def calibration(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help='Questions, some of them with "answerable": false, one JSON a line.',
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="FILE",
            help="Other questions to report on; without it, on folds left out of the fit.",
        ),
    ] = None,
    no_store: Annotated[
        bool,
        typer.Option("--no-store", help="Show what it would come to, and keep what is in force."),
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Fit how likely the passages found can answer, from questions with known answers.

    The probability is shown before an answer when it is low, and kept with it. It belongs to the
    embedding model of the index: a model that nothing was fitted for has none. At least ten
    questions that the site answers and ten that it does not are needed; a hundred are better.
    """
    settings = wiring.load_settings(
        {"site.name": site, "database.url": database_url, "retrieval.mode": "hybrid"}
    )
    fitted_on = open_questions(file).questions()
    told_of = open_questions(test).questions() if test else ()
    output = Output(environ=os.environ)
    with wiring.open_database(settings) as database:
        identity, _ = require_index(database)
        model = identity.embedding.label
        fitted_on = _from_passages(fitted_on, database, output)
        told_of = _from_passages(told_of, database, output)
        _require_both_kinds(fitted_on, file, least=LEAST_QUESTIONS)
        if test:
            _require_both_kinds(told_of, test, least=1)
        weighed = _weighed((*fitted_on, *told_of), settings, database, identity, output)
        known, others = weighed[: len(fitted_on)], weighed[len(fitted_on) :]
        fitted = calibrate(*_kinds(known), embedding_model=model)
        if test:
            figures = told(fitted, *_kinds(others))
        else:
            figures = told_across(*_kinds(known), embedding_model=model, seed=0)
        before = wiring.calibration_of(database, model)
        earlier = told(before, *_kinds(others or known)) if before else None
        if not no_store:
            database.calibrations.store(fitted, figures=_figures(figures))
    if json:
        document = _document(fitted, figures, earlier, file=file, test=test, stored=not no_store)
        output.json(document)
        return
    _show(fitted, figures, earlier, output, test=test)
    kept = "Not stored (--no-store)." if no_store else f"In force from now on for {model}."
    output.remark(kept)


def _from_passages(
    questions: Sequence[KnownQuestion], database: Database, output: Output
) -> tuple[KnownQuestion, ...]:
    """Return the questions that are answered from passages, not from the list of pages."""
    catalogue = wiring.make_catalogue(database)
    kept = tuple(known for known in questions if recognise(known.question, catalogue) is None)
    if left_out := len(questions) - len(kept):
        noun = "question" if left_out == 1 else "questions"
        output.remark(f"{left_out} {noun} about the site itself left out.")
    return kept


def _require_both_kinds(questions: Sequence[KnownQuestion], file: Path, *, least: int) -> None:
    unanswerable = sum(not known.answerable for known in questions)
    answerable = len(questions) - unanswerable
    if min(answerable, unanswerable) < least:
        raise UsageError(
            f"{file} has {answerable} questions that the site answers and {unanswerable} that it "
            f"does not; at least {least} of each are needed",
            hint='Add lines such as {"id": "u1", "question": "…", "answerable": false}.',
        )


def _weighed(
    questions: Sequence[KnownQuestion],
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
    output: Output,
) -> list[tuple[KnownQuestion, Evidence]]:
    search = wiring.make_search(settings, database, recorded=identity)
    if search.embedder is None:
        raise ModelUnreachable(search.unreached, hint="Evidence needs the model of the index.")
    with QuestionProgress(output, total=len(questions)) as progress:
        return list(
            weigh_questions(
                questions,
                embedder=search.embedder,
                retriever=search.retriever,
                coverage=wiring.make_coverage(database),
                k=settings.retrieval.k,
                batch_size=_BATCH,
                report=progress.count,
            )
        )


def _kinds(
    weighed: Sequence[tuple[KnownQuestion, Evidence]],
) -> tuple[list[Evidence], list[Evidence]]:
    answerable = [evidence for known, evidence in weighed if known.answerable]
    return answerable, [evidence for known, evidence in weighed if not known.answerable]


def _show(
    fitted: Calibration, figures: Told, earlier: Told | None, output: Output, *, test: Path | None
) -> None:
    table = new_table("", "recall", "precision", "at even odds", "wrongly", "held back")
    rows = [("fitted", figures)] + ([("in force before", earlier)] if earlier else [])
    for name, row in rows:
        table.add_row(
            Text(name),
            _share(row.recall),
            _share(row.precision),
            _share(row.balanced_precision),
            f"{row.wrongly} of {row.answerable}",
            f"{row.lifted} of {row.unanswerable}",
        )
    output.table(table)
    place = f"on {test}" if test else f"on {FOLDS} folds, each left out of its fit"
    output.remark(
        f'How "not covered" does {place}: recall of questions that the site does not answer; '
        "held back where a rare name of the question stands in the site."
    )
    output.remark(
        f"{fitted.questions} questions: log odds = {fitted.bias:.3f} + {fitted.cosine:.3f} x top "
        f"cosine + {fitted.match:.3f} x best match"
    )


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _figures(figures: Told) -> dict[str, object]:
    precision = figures.precision
    balanced = figures.balanced_precision
    return {
        "answerable": figures.answerable,
        "unanswerable": figures.unanswerable,
        "rightly": figures.rightly,
        "wrongly": figures.wrongly,
        "held_back": figures.lifted,
        "recall": round(figures.recall, 4),
        "precision": None if precision is None else round(precision, 4),
        "balanced_precision": None if balanced is None else round(balanced, 4),
    }


def _document(
    fitted: Calibration,
    figures: Told,
    earlier: Told | None,
    *,
    file: Path,
    test: Path | None,
    stored: bool,
) -> dict[str, object]:
    return {
        "schema": "ragctl.eval_calibrate/1",
        "file": str(file),
        "test": str(test) if test else None,
        "folds": None if test else FOLDS,
        "embedding": fitted.embedding_model,
        "calibration": {
            "bias": round(fitted.bias, 6),
            "cosine": round(fitted.cosine, 6),
            "match": round(fitted.match, 6),
            "not_covered": fitted.not_covered,
            "weak": fitted.weak,
            "questions": fitted.questions,
        },
        "not_covered": _figures(figures),
        "before": earlier and _figures(earlier),
        "stored": stored,
    }
