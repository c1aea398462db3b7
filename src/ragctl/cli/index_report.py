"""What ``ragctl index`` shows: figures by width and how passages are searched, also as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.evaluate.recall import ENOUGH, at_width, narrowest
from ragctl.evaluate.vector_index import CREATE_COMMAND, RECALL_COMMAND, IndexStatus, advice

if TYPE_CHECKING:
    from rich.table import Table

    from ragctl.cli.documents import Document
    from ragctl.db.vector_index import BuiltIndex, Measurement
    from ragctl.records.recall import RecallFigures

_SOURCES = {
    "traces": "questions that were asked",
    "file": "questions of the file",
    "passages": "passages, each left out of its own neighbours",
}


def show_figures(figures: RecallFigures, output: Output) -> None:
    """Print recall and latency of the exact scan and of each width, and what was searched for."""
    table = new_table("width", f"recall@{figures.k}", "median ms", text_columns=(0,))
    table.add_row("exact", "1.000", f"{figures.exact_ms:.1f}")
    _add_widths(table, figures)
    output.table(table)
    output.remark(f"Searched for: {figures.questions:,} {_SOURCES[figures.source]}")


def _add_widths(table: Table, figures: RecallFigures) -> None:
    for each in figures.widths:
        table.add_row(str(each.width), f"{each.recall:.3f}", f"{each.median_ms:.1f}")


def tell_in_use(figures: RecallFigures, built: BuiltIndex, output: Output) -> None:
    """Say at which width searches use the index, and warn where that misses passages."""
    used = at_width(figures, built.width)
    reached = f"{used.recall:.3f}" if used else "not measured"
    output.line(f"In use: hnsw, width {built.width}, recall {reached}.")
    if used is not None and used.recall < ENOUGH:
        output.remark(f"warning: {_missed(used.recall)}", style="yellow")


def tell_measured(figures: RecallFigures, built: BuiltIndex, output: Output) -> None:
    """Say whether the index is used, and what to type where another width would do better."""
    good = narrowest(figures)
    if built.in_use:
        tell_in_use(figures, built, output)
        used = at_width(figures, built.width)
        if used is not None and used.recall >= ENOUGH:
            return
    else:
        output.line("Not in use: searches are exact.")
    numbers = f"--m {built.m} --ef-construction {built.ef_construction}"
    if good is not None:
        output.line(f"  {CREATE_COMMAND} {numbers} --width {good}")


def _missed(recall: float) -> str:
    return f"of 100 passages that are among the nearest, {100 * (1 - recall):.0f} are missed"


def show_status(found: IndexStatus, output: Output) -> None:
    """Print how passages are searched, what was measured, and what is recommended."""
    built = found.index
    kind = f"hnsw, width {built.width}" if built and found.in_use else "exact"
    lines = [("search", kind), ("passages", f"{found.extent.rows:,}")]
    lines.append(("table", _size(found.extent.table_bytes)))
    if built is not None:
        numbers = f"m {built.m}, ef_construction {built.ef_construction}"
        use = "" if built.in_use else ", not in use"
        lines.append(("index", f"hnsw, {numbers}, {_size(built.size_bytes)}{use}"))
        measurement = built.measurement
        lines.append(("measured", _measured_line(measurement) if measurement else "never"))
    for other in found.others:
        told = f"{other.name} ({other.method}, {_size(other.size_bytes)}), not ragctl's, not used"
        lines.append(("another index", told))
    _, why, command = advice(found.extent.rows)
    lines.append(("recommended", f"{_recommended(found)}: {why}"))
    for name, value in lines:
        output.line(Text(harmless(f"{name:16} {value}")))
    if command and not found.in_use:
        output.line(f"  {command}")
    if built is not None and built.measurement is not None:
        output.line()
        show_figures(built.measurement.figures, output)
    if found.stale:
        output.remark(f"warning: {found.stale}: {RECALL_COMMAND}", style="yellow")
    if built is not None and built.in_use and found.others:
        output.remark(
            "warning: beside another index ours is not used: searches are exact", style="yellow"
        )


def _recommended(found: IndexStatus) -> str:
    return "hnsw" if advice(found.extent.rows)[0] == "hnsw" else "exact, without an index"


def _measured_line(measurement: Measurement) -> str:
    return (
        f"{measurement.at:%Y-%m-%d %H:%M}, over {measurement.rows:,} passages "
        f"of {measurement.embedding_model}"
    )


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"


def figures_document(figures: RecallFigures, width: int | None) -> Document:
    """Return the figures by width as JSON has them; shares from 0 to 1, milliseconds."""
    return {
        "source": figures.source,
        "questions": figures.questions,
        "k": figures.k,
        "width_in_use": width,
        "enough": ENOUGH,
        "exact_ms": round(figures.exact_ms, 3),
        "widths": [
            {
                "width": each.width,
                "recall": round(each.recall, 4),
                "median_ms": round(each.median_ms, 3),
            }
            for each in figures.widths
        ],
    }


def status_document(found: IndexStatus) -> Document:
    """Return ``ragctl.index_status/1``; sizes are in bytes."""
    recommended, why, command = advice(found.extent.rows)
    return {
        "schema": "ragctl.index_status/1",
        "search": "hnsw" if found.in_use else "exact",
        "passages": found.extent.rows,
        "table_bytes": found.extent.table_bytes,
        "iterative_scans": found.extent.is_iterative,
        "index": _index_document(found),
        "others": [
            {"name": other.name, "method": other.method, "size_bytes": other.size_bytes}
            for other in found.others
        ],
        "recommended": {"search": recommended, "why": why, "command": command},
    }


def _index_document(found: IndexStatus) -> Document | None:
    built = found.index
    if built is None:
        return None
    measurement = built.measurement
    return {
        "method": built.method,
        "m": built.m,
        "ef_construction": built.ef_construction,
        "width": built.width,
        "in_use": found.in_use,
        "size_bytes": built.size_bytes,
        "created_at": built.created_at.isoformat(),
        "measured": None
        if measurement is None
        else {
            **figures_document(measurement.figures, built.width if built.in_use else None),
            "at": measurement.at.isoformat(),
            "passages": measurement.rows,
            "embedding": measurement.embedding_model,
            "changed_share": round(found.changed_share or 0.0, 4),
            "stale": found.stale,
        },
    }
