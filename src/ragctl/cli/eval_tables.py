"""What was measured as people read it: wide tables in a pipe, narrow ones on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from ragctl.cli.output import Output, harmless
from ragctl.cli.render import new_table
from ragctl.evaluate.bootstrap import LEVEL, RESAMPLES, Interval, intervals
from ragctl.evaluate.retrieval import (
    SHARES,
    Figures,
    Scored,
    by_kind,
    figures,
    values,
)
from ragctl.stages.tokens import TOKEN_COUNTER

if TYPE_CHECKING:
    from rich.table import Table

    from ragctl.evaluate.bounds import Broken
    from ragctl.evaluate.comparison import Comparison, Decided, Measured

IDS_SHOWN = 8
_LABEL_WIDTH = 12
_COLUMN_WIDTH = 16  # "0.85 0.76–0.93" and what parts it from the next


def figure_names(k: int) -> dict[str, str]:
    """Return how the figures are shown, by their names in documents."""
    return {
        "pages_at_1": "pages@1",
        "pages_at_k": f"pages@{k}",
        "sections_at_k": f"sections@{k}",
        "facts_at_k": f"facts@{k}",
        "mrr": "MRR",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    name: str
    figures: Figures
    intervals: Mapping[str, Interval | None]

    def share(self, figure: str) -> str:
        share: float | None = getattr(self.figures, figure)
        known = self.intervals.get(figure)
        return "-" if share is None else f"{share:.2f}{f' {between(known)}' if known else ''}"


def show_retrieval(measured: Measured, output: Output) -> None:
    """Print the figures, then how each further mode does against the first."""
    _show_figures(measured.scored, output, k=measured.k)
    against = next(iter(measured.scored))
    for mode, comparison in measured.comparisons.items():
        show_comparison(
            comparison, output, name=mode, against=against, names=figure_names(measured.k)
        )
    identity = measured.identity
    output.remark(
        f"{identity.chunker}, {identity.embedding.label}, {', '.join(measured.scored)}; "
        f"{LEVEL:.0%} intervals of {RESAMPLES:,} draws; tokens: {TOKEN_COUNTER}"
    )


def _show_figures(scored: Mapping[str, Sequence[Scored]], output: Output, *, k: int) -> None:
    """Print a line a kind and one for all; of several modes the line for all of each."""
    if len(scored) == 1:
        ((_, questions),) = scored.items()
        lines = [_line(kind, group) for kind, group in by_kind(questions)]
    else:
        lines = [_line(mode, questions) for mode, questions in scored.items()]
    table = _wide(lines, k=k, is_by_kind=len(scored) == 1)
    if output.fits(table):
        output.table(table)
        return
    at_once = max(1, (output.data.width - _LABEL_WIDTH) // _COLUMN_WIDTH)
    for start in range(0, len(lines), at_once):
        if start:
            output.line()
        output.table(_narrow(lines[start : start + at_once], k=k))


def _line(name: str, scored: Sequence[Scored]) -> _Line:
    return _Line(
        name=name,
        figures=figures(scored)[-1],
        intervals=intervals(values(each) for each in scored),
    )


def between(interval: Interval) -> str:
    """Return an interval as shown behind its figure."""
    return f"{interval.low:.2f}–{interval.high:.2f}"


def _wide(lines: Sequence[_Line], *, k: int, is_by_kind: bool) -> Table:
    names = figure_names(k)
    table = new_table(
        *("kind" if is_by_kind else "mode", "questions", "with gold"),
        *(names[figure] for figure in SHARES),
        *("tokens median", "p90"),
    )
    for line in lines:
        if is_by_kind and line is lines[-1]:
            table.add_section()
        table.add_row(
            Text(harmless(line.name)),
            f"{line.figures.questions:,}",
            f"{line.figures.with_gold:,}",
            *(line.share(figure) for figure in SHARES),
            f"{line.figures.prompt_tokens_median:,}",
            f"{line.figures.prompt_tokens_p90:,}",
        )
    return table


def _narrow(lines: Sequence[_Line], *, k: int) -> Table:
    """Return the same turned about: a column a line, a row a figure."""
    columns = ["", *(harmless(line.name) for line in lines)]
    table = new_table(*columns, text_columns=tuple(range(len(columns))))
    names = figure_names(k)
    rows = {
        "questions": [f"{line.figures.questions:,}" for line in lines],
        "with gold": [f"{line.figures.with_gold:,}" for line in lines],
        **{names[figure]: [line.share(figure) for line in lines] for figure in SHARES},
        "tokens": [f"{line.figures.prompt_tokens_median:,}" for line in lines],
        "p90": [f"{line.figures.prompt_tokens_p90:,}" for line in lines],
    }
    for name, cells in rows.items():
        table.add_row(name, *cells)
    return table


def show_comparison(
    comparison: Comparison, output: Output, *, name: str, against: str, names: Mapping[str, str]
) -> None:
    """Print which questions one wins and loses, and the differences of the figures by name."""
    won, lost = len(comparison.won), len(comparison.lost)
    output.line()
    title = f"{harmless(name)} against {harmless(against)}"
    output.line(f"{title}: {won:,} won, {lost:,} lost, {comparison.alike:,} alike")
    for name, decided in (("won", comparison.won), ("lost", comparison.lost)):
        if decided:
            output.line(f"  {name:<5} {_ids(decided)}")
    width = max(map(len, names.values())) + 1
    for each in comparison.differences:
        if each.mean is not None:
            low_high = ""
            if each.interval is not None:
                low_high = f"  {each.interval.low:+.3f} to {each.interval.high:+.3f}"
            output.line(f"  {names[each.figure]:<{width}} {each.mean:+.3f}{low_high}")


def _ids(decided: Sequence[Decided]) -> str:
    shown = ", ".join(each.id for each in decided[:IDS_SHOWN])
    more = len(decided) - IDS_SHOWN
    return f"{shown} … and {more:,} more (--json lists all)" if more > 0 else shown


def show_broken(broken: Sequence[Broken], output: Output) -> None:
    """Print a line on stderr for each bound that is not kept."""
    for each in broken:
        least = f"{each.bound.least:g}"
        if each.value is None:
            found = f"no question of the file counts for it, and it must be at least {least}"
        else:
            found = f"{each.value:.4f} is below {least}"
        output.remark(f"FAILED {each.label} {each.bound.name}: {found}", style="red")
