"""``ragctl diff``: what changed between two folders of artifacts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ragctl.cli import options
from ragctl.cli.output import Output
from ragctl.comparing import Boundary, Change, Comparison, compare
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS

LINES_A_BOUNDARY = 20
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}

app = options.command_app("Show what changed between two folders of artifacts.")


@app.command(epilog="Example: ragctl diff build/monday build/tuesday")
def diff(
    before: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the earlier run.")],
    after: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the later run.")],
    every: Annotated[
        bool, typer.Option("--all", help=f"List every change, not {LINES_A_BOUNDARY} a boundary.")
    ] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show which pages, passages, vectors, hits and answers changed between two runs.

    The first boundary that differs is named: the fault lies in the stage before it. Exit code 0
    where the runs are the same, 1 where they differ.
    """
    output = Output(environ=os.environ)
    comparison = compare(before, after)
    if json:
        output.json(diff_document(comparison, before=before, after=after))
    else:
        for folder, stale in zip((before, after), comparison.stale, strict=True):
            if stale:
                output.remark(
                    f"{folder} is half old: run {', '.join(stale)} again.", style="yellow"
                )
        _show(comparison, output, longest=None if every else LINES_A_BOUNDARY)
    raise typer.Exit(EXIT_DONE if comparison.first is None else EXIT_FINDINGS)


def diff_document(comparison: Comparison, *, before: Path, after: Path) -> dict[str, object]:
    """Return ``ragctl.diff/1``."""
    first = comparison.first
    return {
        "schema": "ragctl.diff/1",
        "before": str(before),
        "after": str(after),
        "same": first is None,
        "first_difference": first.name if first else "",
        "boundaries": {
            boundary.name: {
                "compared": boundary.compared,
                "counts": _counts(boundary),
                "changes": [_without_none(asdict(change)) for change in boundary.changes],
            }
            for boundary in comparison.boundaries
        },
        "parameters": [
            {"stage": stage, "key": key, "before": was, "after": now}
            for stage, key, was, now in comparison.parameters
        ],
        "stale": {"before": list(comparison.stale[0]), "after": list(comparison.stale[1])},
    }


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _counts(boundary: Boundary) -> dict[str, int]:
    kinds = [change.kind for change in boundary.changes]
    return {kind: kinds.count(kind) for kind in _SIGNS}


def _show(comparison: Comparison, output: Output, *, longest: int | None) -> None:
    for boundary in comparison.boundaries:
        output.line(f"{boundary.name:<9} {_summary(boundary)}")
        for change in boundary.changes[:longest]:
            output.line(f"  {_SIGNS[change.kind]} {change.name}{_how(change)}")
        if longest is not None and len(boundary.changes) > longest:
            output.line(f"  … and {len(boundary.changes) - longest:,} more (--all lists them)")
    for stage, key, was, now in comparison.parameters:
        output.line(f"parameter {stage}.{key}: {was} -> {now}")
    first = comparison.first
    if first is None:
        output.remark("The two runs are the same.")
    else:
        output.remark(f"They part at {first.name}: what follows from it may differ for that alone.")


def _summary(boundary: Boundary) -> str:
    if not boundary.compared:
        return "in neither folder"
    counted = [f"{count:,} {kind}" for kind, count in _counts(boundary).items() if count]
    return ", ".join(counted) or "same"


def _how(change: Change) -> str:
    if change.cosine is not None:
        return f"  cosine {change.cosine:.4f}"
    if change.rank_before is not None or change.rank_after is not None:
        was = _rank(
            change.rank_before,
            change.score_before,
            vector=change.vector_score_before,
            keyword=change.keyword_score_before,
        )
        now = _rank(
            change.rank_after,
            change.score_after,
            vector=change.vector_score_after,
            keyword=change.keyword_score_after,
        )
        return f"  {was} -> {now}"
    return f"  {change.how}" if change.how else ""


def _rank(
    rank: int | None, score: float | None, *, vector: float | None, keyword: float | None
) -> str:
    if rank is None or score is None:
        return "absent"
    parts = "" if vector is None else f"vector {vector:.4f}"
    parts += "" if keyword is None else f"{', ' if parts else ''}keyword {keyword:.4f}"
    return f"rank {rank} ({score:.4f}{': ' if parts else ''}{parts})"
