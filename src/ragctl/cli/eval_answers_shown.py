"""What was measured of answers, as people read it and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.text import Text

from ragctl.cli.eval_documents import (
    bootstrap_document,
    comparison_document,
    interval_document,
    rounded,
)
from ragctl.cli.eval_tables import between, show_comparison
from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted, new_table
from ragctl.evaluate.answers import (
    MEANS,
    AnswerFigures,
    ScoredAnswer,
    answer_figures,
    answer_values,
)
from ragctl.evaluate.bootstrap import LEVEL, RESAMPLES, Interval, intervals
from ragctl.evaluate.retrieval import by_kind

if TYPE_CHECKING:
    from ragctl.cli.documents import Document
    from ragctl.evaluate.answer_runs import MeasuredAnswers

BOUND_NAMES: Final = {
    "answered": "answered",
    "refused": "refusal_recall",
    "refused-rightly": "refusal_precision",
    "facts": "facts",
    "any-fact": "any_fact",
    "cited": "cited",
    "pages": "gold_page",
    "sections": "gold_section",
    "supported": "supported",
}
"""How users name the shares, and the names that documents give them."""

SHOWN_NAMES: Final = {
    **{figure: name for name, figure in BOUND_NAMES.items()},
    "problems": "problems",
}
STORED_COUNTS: Final = {
    "words_median": "words",
    "ms_median": "ms median",
    "ms_p90": "ms p90",
    **{name: name for name in ("extractive", "incomplete", "failed")},
}
STORED_NAMES: Final = {**SHOWN_NAMES, **STORED_COUNTS}
"""How the figures of a stored run are shown, in order, by the names they are stored under."""

_LABEL_WIDTH = 17
_COLUMN_WIDTH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    name: str
    figures: AnswerFigures
    intervals: Mapping[str, Interval | None]

    def mean(self, figure: str) -> str:
        mean = self.figures.means[figure]
        known = self.intervals.get(figure)
        return "-" if mean is None else f"{mean:.2f}{f' {between(known)}' if known else ''}"


def show_answers(measured: MeasuredAnswers, output: Output) -> None:
    """Print the figures, then how each further route does against the first."""
    _show_figures(measured.scored, output)
    for route, scored in measured.scored.items():
        _show_claims(route, answer_figures(scored)[-1], output)
    against = next(iter(measured.scored))
    for route, comparison in measured.comparisons.items():
        show_comparison(comparison, output, name=route, against=against, names=SHOWN_NAMES)
    output.remark(
        f"{', '.join(measured.scored)}, prompt {measured.template}; passages by "
        f"{measured.mode}, k {measured.k}; {LEVEL:.0%} intervals of {RESAMPLES:,} draws"
    )
    for scored in measured.scored.values():
        for each in scored:
            if each.error:
                output.remark(f"FAILED {each.question.id}: {each.error}", style="red")


def _show_figures(scored: Mapping[str, Sequence[ScoredAnswer]], output: Output) -> None:
    """Print a line a kind and one for all; of several routes the line for all of each."""
    if len(scored) == 1:
        ((_, questions),) = scored.items()
        lines = [_line(kind, group) for kind, group in by_kind(questions)]
    else:
        lines = [_line(route, questions) for route, questions in scored.items()]
    columns = _columns(lines)
    table = new_table("kind" if len(scored) == 1 else "written by", *columns)
    for number, line in enumerate(lines):
        if len(scored) == 1 and line is lines[-1]:
            table.add_section()
        table.add_row(Text(harmless(line.name)), *(cells[number] for cells in columns.values()))
    if output.fits(table):
        output.table(table)
        return
    at_once = max(1, (output.data.width - _LABEL_WIDTH) // _COLUMN_WIDTH)
    for start in range(0, len(lines), at_once):
        if start:
            output.line()
        names = ["", *(harmless(line.name) for line in lines[start : start + at_once])]
        turned = new_table(*names, text_columns=tuple(range(len(names))))
        for heading, cells in columns.items():
            turned.add_row(heading, *cells[start : start + at_once])
        output.table(turned)


def _line(name: str, scored: Sequence[ScoredAnswer]) -> _Line:
    return _Line(
        name=name,
        figures=answer_figures(scored)[-1],
        intervals=intervals(answer_values(each) for each in scored),
    )


def _columns(lines: Sequence[_Line]) -> dict[str, list[str]]:
    """Return the cells of each column by its heading, one a line."""
    counts: dict[str, Callable[[AnswerFigures], int]] = {
        "words": lambda figures: figures.words_median,
        "ms median": lambda figures: figures.ms_median,
        "ms p90": lambda figures: figures.ms_p90,
        "extractive": lambda figures: figures.extractive,
        "incomplete": lambda figures: figures.incomplete,
        "failed": lambda figures: figures.failed,
    }
    return {
        "questions": [f"{line.figures.questions:,}" for line in lines],
        "answerable": [f"{line.figures.answerable:,}" for line in lines],
        **{SHOWN_NAMES[name]: [line.mean(name) for line in lines] for name in MEANS},
        **{
            heading: [f"{count(line.figures):,}" for line in lines]
            for heading, count in counts.items()
        },
    }


def _show_claims(route: str, figures: AnswerFigures, output: Output) -> None:
    total = sum(figures.claims.values())
    shares = ", ".join(f"{count / total:.2f} {name}" for name, count in figures.claims.items())
    told = f"{counted(total, 'claim')}: {shares}" if total else "no claims"
    listed = f"; {figures.from_list:,} answered from the list of pages" if figures.from_list else ""
    output.line()
    output.line(f"{harmless(route)}: {told}{listed}")


def answers_document(measured: MeasuredAnswers) -> Document:
    """Return ``ragctl.eval_answers/1``: the first route's figures, and those of all by route."""
    file, identity = measured.file, measured.identity
    documents = [_of_route(route, measured) for route in measured.scored]
    return {
        "schema": "ragctl.eval_answers/1",
        "file": str(file.path),
        "file_sha256": file.sha256,
        "asked": measured.asked,
        "k": measured.k,
        "mode": measured.mode,
        "prompt": measured.template,
        "embedding": identity.embedding.label,
        "chunker": identity.chunker,
        "chunker_parameters": dict(identity.chunker_parameters),
        "bootstrap": bootstrap_document(),
        "failed": [
            {
                "route": each.label,
                "figure": each.bound.figure,
                "bound": each.bound.least,
                "value": rounded(each.value),
            }
            for each in measured.broken
        ],
        **documents[0],
        "routes": documents,
    }


def _of_route(route: str, measured: MeasuredAnswers) -> Document:
    scored = measured.scored[route]
    comparison = measured.comparisons.get(route)
    first = next(iter(measured.scored))
    *kinds, overall = [
        _figures_document(row, group)
        for row, (_, group) in zip(answer_figures(scored), by_kind(scored), strict=True)
    ]
    return {
        "route": route,
        "overall": overall,
        "kinds": kinds,
        "questions": [_question_document(each) for each in scored],
        "run": measured.stored.get(route),
        "against": {"route": first, **comparison_document(comparison)} if comparison else None,
    }


def _figures_document(row: AnswerFigures, scored: Sequence[ScoredAnswer]) -> Document:
    between_ends = intervals(answer_values(each) for each in scored)
    total = sum(row.claims.values())
    return {
        "kind": row.kind,
        "questions": row.questions,
        "answerable": row.answerable,
        **{name: rounded(row.means[name]) for name in MEANS},
        "intervals": {name: interval_document(ends) for name, ends in between_ends.items()},
        "claims": {
            name: {"count": count, "share": rounded(count / total)}
            for name, count in row.claims.items()
        },
        "words": {"median": row.words_median},
        "ms": {"median": row.ms_median, "p90": row.ms_p90},
        "refused": row.refused,
        "extractive": row.extractive,
        "incomplete": row.incomplete,
        "from_list": row.from_list,
        "failed": row.failed,
    }


def _question_document(each: ScoredAnswer) -> Document:
    answer = each.answer
    return {
        "id": each.question.id,
        "kind": each.question.kind,
        "question": each.question.question,
        "answerable": each.question.answerable,
        "answered": each.is_answered,
        "refused": each.is_refused,
        "missing_facts": None if each.missing is None else list(each.missing),
        **{name: rounded(value) for name, value in answer_values(each).items()},
        "answer": answer.text if answer else None,
        "route": answer.route if answer else None,
        "finish": answer.finish if answer else "failed",
        "citations": [
            {"url": citation.url, "section": citation.section or "", "support": citation.support}
            for citation in (answer.citations if answer else ())
        ],
        "problem_codes": [problem.code for problem in answer.problems] if answer else [],
        "error": each.error,
        "ms": round(each.ms, 1),
    }
