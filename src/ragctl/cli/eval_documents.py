"""What was measured as JSON. Fields are only ever added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragctl.evaluate.bootstrap import LEVEL, RESAMPLES, SEED, Interval, Values, intervals
from ragctl.evaluate.retrieval import (
    SHARES,
    Figures,
    Scored,
    by_kind,
    figures,
    values,
)
from ragctl.evaluate.runs import changes, what_differs
from ragctl.stages.tokens import TOKEN_COUNTER

if TYPE_CHECKING:
    from ragctl.cli.documents import Document
    from ragctl.evaluate.comparison import Comparison, Decided, Measured
    from ragctl.evaluate.lint import Finding
    from ragctl.records.evaluations import Evaluation, PastEvaluation


def retrieval_document(measured: Measured) -> Document:
    """Return ``ragctl.eval_retrieval/1``: the first mode's figures, and those of all by mode."""
    file, identity = measured.file, measured.identity
    documents = [_of_mode(mode, measured) for mode in measured.scored]
    return {
        "schema": "ragctl.eval_retrieval/1",
        "file": str(file.path),
        "file_sha256": file.sha256,
        "k": measured.k,
        "embedding": identity.embedding.label,
        "chunker": identity.chunker,
        "chunker_parameters": dict(identity.chunker_parameters),
        "token_counter": TOKEN_COUNTER,
        "bootstrap": bootstrap_document(),
        "failed": [
            {
                "mode": each.label,
                "figure": each.bound.figure,
                "bound": each.bound.least,
                "value": rounded(each.value),
            }
            for each in measured.broken
        ],
        **documents[0],
        "modes": documents,
    }


def bootstrap_document() -> Document:
    """Return how intervals are made."""
    return {
        "method": "percentile, over questions",
        "level": LEVEL,
        "resamples": RESAMPLES,
        "seed": SEED,
    }


def _of_mode(mode: str, measured: Measured) -> Document:
    comparison = measured.comparisons.get(mode)
    first = next(iter(measured.scored))
    return {
        "mode": mode,
        **_mode_document(measured.scored[mode]),
        "run": measured.stored.get(mode),
        "against": {"mode": first, **comparison_document(comparison)} if comparison else None,
    }


def _mode_document(scored: Sequence[Scored]) -> Document:
    groups = by_kind(scored)
    *kinds, overall = [
        _figures_document(row, [values(each) for each in group])
        for row, (_, group) in zip(figures(scored), groups, strict=True)
    ]
    return {
        "overall": overall,
        "kinds": kinds,
        "questions": [_scored_document(each) for each in scored],
    }


def _figures_document(row: Figures, questions: Sequence[Values]) -> Document:
    return {
        "kind": row.kind,
        "questions": row.questions,
        "with_gold": row.with_gold,
        **{name: rounded(getattr(row, name)) for name in SHARES},
        "intervals": {
            name: interval_document(between) for name, between in intervals(questions).items()
        },
        "prompt_tokens": {"median": row.prompt_tokens_median, "p90": row.prompt_tokens_p90},
    }


def interval_document(between: Interval | None) -> list[float | None] | None:
    """Return an interval as its two ends."""
    return None if between is None else [rounded(between.low), rounded(between.high)]


def comparison_document(comparison: Comparison) -> Document:
    """Return which questions were won and lost, and by how much the figures differ."""
    return {
        "won": [_decided_document(each) for each in comparison.won],
        "lost": [_decided_document(each) for each in comparison.lost],
        "alike": comparison.alike,
        "differences": {
            each.figure: {
                "mean": rounded(each.mean),
                "interval": interval_document(each.interval),
                "questions": each.questions,
            }
            for each in comparison.differences
        },
    }


def _decided_document(each: Decided) -> Document:
    return {"id": each.id, "by": each.by}


def _scored_document(each: Scored) -> Document:
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


def rounded(share: float | None) -> float | None:
    """Return a share to four places."""
    return None if share is None else round(share, 4)


def history_document(runs: Sequence[PastEvaluation]) -> Document:
    """Return ``ragctl.eval_history/1``."""
    return {
        "schema": "ragctl.eval_history/1",
        "runs": [
            {
                **_run_document(past.run),
                "before": None
                if past.before is None
                else {
                    "id": past.before.id,
                    "at": past.before.at.isoformat(),
                    "changes": {name: rounded(change) for name, change in changes(past).items()},
                    "differs": list(what_differs(past)),
                },
            }
            for past in runs
        ],
    }


def _run_document(run: Evaluation) -> Document:
    return {
        "id": run.id,
        "at": run.at.isoformat(),
        "kind": run.kind,
        "file": run.file,
        "file_sha256": run.file_sha256,
        "label": run.label,
        "k": run.k,
        "embedding": run.embedding_model,
        "chunker": run.chunker,
        "chunker_parameters": dict(run.chunker_parameters),
        "passages": run.passages,
        "program_version": run.program_version,
        "questions": run.questions,
        "figures": {name: rounded(value) for name, value in run.figures.items()},
    }


def lint_document(findings: Sequence[Finding], *, file: str, questions: int) -> Document:
    """Return ``ragctl.eval_lint/1``; ``findings`` counts what is no note."""
    return {
        "schema": "ragctl.eval_lint/1",
        "file": file,
        "questions": questions,
        "findings": sum(not each.is_note for each in findings),
        "notes": sum(each.is_note for each in findings),
        "lines": [
            {
                "line": each.line,
                "id": each.id,
                "level": "note" if each.is_note else "finding",
                "code": each.code,
                "message": each.message,
            }
            for each in findings
        ],
    }
