"""What ``ragctl bench model`` measured, as a table, in sentences and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import counted, new_table
from ragctl.evaluate.latency import STAGES, WITHOUT_MODEL, Spread, Timed, spread, spreads

_SHOWN = {
    "embed_ms": "embed the question, ms",
    "search_ms": "search, ms",
    "waiting_ms": "waiting, ms",
    "prefill_ms": "read the prompt, ms",
    "prefill_tokens_per_second": "  tokens/s",
    "first_token_ms": "first token, ms",
    "decode_ms": "write the answer, ms",
    "decode_tokens_per_second": "  tokens/s",
    "total_ms": "total, ms",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What was asked, and where that came from: ``file``, ``traces`` or ``drafts``."""

    source: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What was measured, with what it takes to read it; ``reason`` says why no model wrote."""

    timed: tuple[Timed, ...]
    questions: Questions
    runs: int
    embedding: str
    passages: int
    mode: str
    reason: str


def show_bench(found: Bench, output: Output) -> None:
    """Print a line a step, first times beside further ones, and what was measured with."""
    stages = WITHOUT_MODEL if found.reason else STAGES
    first = spreads(found.timed, is_again=False)
    again = spreads(found.timed, is_again=True)
    has_again = any(again.values())
    columns = ("first time", "range", *(("again", "range") if has_again else ()))
    table = new_table("step, median", *columns)
    for stage in stages:
        cells = [*_cells(first[stage]), *(_cells(again[stage]) if has_again else ())]
        table.add_row(_SHOWN[stage], *cells)
    if output.fits(table):
        output.table(table)
    else:
        for stage in stages:
            told = "; again ".join(
                " ".join(_cells(each[stage])) for each in (first, again) if each[stage]
            )
            output.line(f"{_SHOWN[stage].strip()}: {told or '-'}")
    output.line()
    for line in _told(found):
        output.line(Text(harmless(line)))


def _cells(found: Spread | None) -> tuple[str, str]:
    if found is None:
        return "-", ""
    return _number(found.median), f"{_number(found.least)}–{_number(found.most)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def _told(found: Bench) -> list[str]:
    """Return what was measured with, in sentences."""
    sources = {
        "file": "of the file",
        "traces": "that were asked before",
        "drafts": "drafted from the site",
    }
    asked = counted(len(found.questions.texts), "question")
    times = "once" if found.runs == 1 else f"{found.runs} times in a row"
    searched = f"{counted(found.passages, 'passage')} searched ({found.mode})"
    lines = [
        f"{asked} {sources[found.questions.source]}, each asked {times}; {searched}.",
        f"Embedded by {found.embedding}.",
    ]
    if found.reason:
        return lines
    lines.append(f"Written by {', '.join(_routes(found)) or 'nobody'}: {_tokens_told(found)}.")
    lines.append(
        "Waiting is what passed beyond the model's own time: other requests, loading, the network."
    )
    broken = sum(not one.is_whole for one in found.timed)
    if broken:
        lines.append(f"{counted(broken, 'answer')} broke off or needed no model: not counted.")
    return lines


def _routes(found: Bench) -> list[str]:
    return list(dict.fromkeys(one.route for one in found.timed if one.is_whole))


def _tokens(found: Bench) -> dict[str, Spread | None]:
    return {
        "prompt": spread([one.prompt_tokens for one in found.timed]),
        "output": spread([one.output_tokens for one in found.timed]),
    }


def _tokens_told(found: Bench) -> str:
    parts = []
    for name, tokens in _tokens(found).items():
        if tokens is not None:
            extent = f"{tokens.least:,.0f}–{tokens.most:,.0f}"
            parts.append(f"{tokens.median:,.0f} {name} tokens ({extent})")
    return ", ".join(parts) or "its server counts no tokens"


def bench_document(found: Bench) -> dict[str, object]:
    """Return ``ragctl.bench_model/1``: a spread a step, null where it is not known."""
    return {
        "schema": "ragctl.bench_model/1",
        "questions": {"source": found.questions.source, "count": len(found.questions.texts)},
        "runs": found.runs,
        "passages": found.passages,
        "mode": found.mode,
        "embedding_model": found.embedding,
        "routes": _routes(found),
        "reason": found.reason,
        "not_counted": 0 if found.reason else sum(not one.is_whole for one in found.timed),
        "tokens": _spread_documents(_tokens(found)),
        "first": _spread_documents(spreads(found.timed, is_again=False)),
        "again": _spread_documents(spreads(found.timed, is_again=True)),
    }


def _spread_documents(found: Mapping[str, Spread | None]) -> dict[str, object]:
    return {name: None if each is None else _rounded(each) for name, each in found.items()}


def _rounded(found: Spread) -> dict[str, float]:
    return {name: round(value, 3) for name, value in asdict(found).items()}
