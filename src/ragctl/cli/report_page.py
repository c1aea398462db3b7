"""The page of ``ragctl report``: HTML that needs nothing from elsewhere and runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from ragctl.cli.output import harmless
from ragctl.cli.report_plots import large_plot, legend, small_plot, stacked_plot
from ragctl.cli.stats_cost import cost_cells
from ragctl.cli.stats_drift import day_cells, normal_cosine, verdict
from ragctl.cli.stats_gaps import in_reasons
from ragctl.cli.stats_overview import group_cells, group_name, in_words, sum_of
from ragctl.cli.stats_words import figure, marks, normal
from ragctl.observe.cost import Cost, together

if TYPE_CHECKING:
    from ragctl.cli.stats_data import DriftFound, GapsFound, Overview
    from ragctl.observe.signals import Standing
    from ragctl.records.signals import SignalRow

_STYLE: Final = """
:root { color-scheme: light dark; --text: #1d2430; --quiet: #5b6675; --page: #fff; --rule: #d9dee6;
  --band: #dfeaf7; --line: #2563a8; --bad: #b3261e; --odd: #a06000;
  --p0: #2f7d5b; --p1: #d39b2a; --p2: #7a8699; --p3: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e3e8ef; --quiet: #9aa7b8; --page: #14181f;
  --rule: #303845; --band: #22344b; --line: #7db4f0; --bad: #ff8a80; --odd: #f0b850;
  --p0: #58b088; --p1: #dcae4e; --p2: #8c98ab; --p3: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 68rem; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; overflow-wrap: anywhere; }
p, ul { margin: .4rem 0; } .quiet { color: var(--quiet); font-size: .9rem; }
.bad { color: var(--bad); font-weight: 600; } .odd { color: var(--odd); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .875rem; }
th, td { padding: .35rem .5rem .35rem 0; text-align: right; vertical-align: middle;
  border-bottom: 1px solid var(--rule); font-variant-numeric: tabular-nums; white-space: nowrap; }
th { color: var(--quiet); font-weight: 600; } th:first-child, td:first-child { text-align: left; }
td.words, th.words { text-align: left; white-space: normal; min-width: 9rem; }
th { white-space: normal; }
td.name { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; }
svg { display: block; width: 100%; height: auto; } td svg { width: 15rem; }
svg.key { display: inline-block; width: .8em; height: .8em; }
svg text { font: 12px system-ui, sans-serif; fill: var(--quiet); }
.band { fill: var(--band); } .middle { stroke: var(--quiet); stroke-dasharray: 3 3; opacity: .6; }
.line { fill: none; stroke: var(--line); stroke-width: 1.6; } .dot { fill: var(--line); }
.dot.above, .dot.below { fill: var(--bad); }
.part-0 { fill: var(--p0); } .part-1 { fill: var(--p1); } .part-2 { fill: var(--p2); }
.part-3 { fill: var(--p3); } .legend span { margin-right: 1rem; white-space: nowrap; }
.gap { break-inside: avoid; } .gap li { overflow-wrap: anywhere; }
@media (max-width: 45rem) {
  svg text { font-size: 18px; }
  .signals thead { display: none; } .signals tr { display: block; padding: .5rem 0;
    border-bottom: 1px solid var(--rule); }
  .signals td { display: block; text-align: left; border: 0; padding: .1rem 0; }
  .signals td:empty { display: none; } .signals td svg { width: 100%; max-width: 26rem; }
  .signals td[data-name]::before { content: attr(data-name) " "; color: var(--quiet); }
  .signals td:first-child { font-weight: 600; } }
@media print { body { max-width: none; padding: 0; font-size: 11px; } .wide { overflow: visible; }
  h2 { break-after: avoid; } tr, svg { break-inside: avoid; } td svg { width: 10rem; } }
"""

_OUTCOMES: Final = ("answered", "refused", "quoted or incomplete", "failed or stopped")
_PHASES: Final = ("embed and search", "prefill", "decode", "waiting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a report shows; ``made_at`` is a text, ``groups`` are rows by what they go by."""

    site: str
    made_at: str
    overview: Overview
    groups: tuple[tuple[str, tuple[SignalRow, ...]], ...]
    drift: DriftFound
    gaps: GapsFound
    costs: tuple[Cost, ...]
    most_gaps: int = 20


def page_of(report: Report) -> str:
    """Return the page; all that comes from questions, pages and settings is escaped."""
    found = report.overview
    title = f"Signals of {_safe(report.site)}"
    whole = sum_of(found.whole) if found.whole else "nothing was asked"
    sections = (
        f"<h1>{title}</h1>\n<p>{in_words(found.period)}: {_safe(whole)}</p>\n"
        f'<p class="quiet">Made {_safe(report.made_at)} by ragctl report. What is normal comes '
        "from the 28 days before.</p>",
        _left(found),
        _questions(found),
        _signals(found),
        *(_group(by, rows) for by, rows in report.groups),
        _drift(report.drift),
        _gaps(report.gaps, report.most_gaps),
        _cost(report.costs),
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(section for section in sections if section)
        + "\n</body>\n</html>\n"
    )


def _safe(text: str) -> str:
    return escape(harmless(text))


def _left(found: Overview) -> str:
    alarming = [one for one in found.standings if one.alarms]
    if not any(one.band for one in found.standings):
        said = "<p>There are not enough days yet to say what is normal.</p>"
    elif not alarming:
        said = "<p>No signal left its band for the worse.</p>"
    else:
        lines = "".join(
            f'<li><span class="bad">{_safe(one.signal.label)}</span> '
            f"{_safe(marks(one.alarms, total=len(one.days)))}: {_safe(one.signal.meaning)}</li>"
            for one in alarming
        )
        said = f"<ul>{lines}</ul>"
    return f"<h2>What left its band</h2>\n{said}"


def _questions(found: Overview) -> str:
    rows, names = found.days, [row.key for row in found.days]
    outcomes = stacked_plot(
        names,
        tuple(
            zip(
                _OUTCOMES,
                (
                    [float(row.answered) for row in rows],
                    [float(row.refused) for row in rows],
                    [float(row.extractive + row.incomplete) for row in rows],
                    [float(row.failed + row.stopped) for row in rows],
                ),
                strict=True,
            )
        ),
        label="Questions by day and outcome",
    )
    phases = stacked_plot(
        names,
        tuple(
            zip(
                _PHASES,
                (
                    [_seconds(row.embed_ms, row.search_ms) for row in rows],
                    [_seconds(row.prefill_ms) for row in rows],
                    [_seconds(row.decode_ms) for row in rows],
                    [_seconds(row.waiting_ms) for row in rows],
                ),
                strict=True,
            )
        ),
        label="Median time of an answer by day and phase",
        unit=" s",
    )
    shown = f"<h2>Questions by day</h2>\n{outcomes}{legend(_OUTCOMES)}" if outcomes else ""
    if phases:
        shown += f"\n<h2>Median time of each phase by day</h2>\n{phases}{legend(_PHASES)}"
    return shown


def _seconds(*milliseconds: float | None) -> float | None:
    known = [one for one in milliseconds if one is not None]
    return sum(known) / 1000 if known else None


def _signals(found: Overview) -> str:
    shown = [one for one in found.standings if one.value is not None]
    if not shown:
        return ""
    rows = "".join(_signal(one) for one in shown)
    head = (
        '<th>signal</th><th>value</th><th class="words">by day</th><th class="words">normal</th>'
        '<th class="words">what left it</th>'
    )
    return (
        '<h2>Signals</h2>\n<div class="wide"><table class="signals"><thead><tr>'
        f"{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _signal(one: Standing) -> str:
    label = _safe(one.signal.label)
    told = _safe(marks(one.left, total=len(one.days)))
    kind = "bad" if one.alarms else "odd"
    mark = f'<span class="{kind}">{told}</span>' if told else ""
    plot = small_plot(one.days, one.band, label=f"{one.signal.label} by day")
    return (
        f'<tr><td title="{_safe(one.signal.meaning)}">{label}</td>'
        f"<td>{_safe(figure(one.value, one.signal))}</td><td>{plot}</td>"
        f'<td class="words" data-name="normal">{_safe(normal(one.band, one.signal))}</td>'
        f'<td class="words">{mark}</td></tr>'
    )


def _group(by: str, rows: Sequence[SignalRow]) -> str:
    if not rows:
        return ""
    cells = [(group_name(row, by), *(cell for _, cell in group_cells(row))) for row in rows]
    headings = (by, *(name for name, _ in group_cells(rows[0])))
    return f"<h2>By {_safe(by)}</h2>\n{_table(headings, cells)}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_safe(one)}</th>" for one in headings)
    body = "".join(
        f'<tr><td class="name">{_safe(row[0])}</td>'
        + "".join(f"<td>{_safe(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    whole = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{whole}</div>'


def _drift(found: DriftFound) -> str:
    drift = found.drift
    if not drift.days:
        return ""
    plot = large_plot([one.day for one in drift.days], drift.band, label="Median top cosine by day")
    questions = "".join(
        f"<li>{_safe(one.day)}, {one.top_cosine:.3f}: "
        f"{_safe(one.question or f'(text not kept, trace {one.id})')}</li>"
        for one in found.questions
    )
    far = f"<h3>Farthest from the site on these days</h3><ul>{questions}</ul>" if questions else ""
    marked = [one for one in drift.days if one.day.side]
    days = _table(
        ("day", "questions", "cosine", "not covered", "side"),
        [(*day_cells(one), one.day.side) for one in marked],
    )
    return (
        f'<h2>Drift</h2>\n<p>{_safe(verdict(drift))}</p>\n{plot}\n<p class="quiet">Median cosine '
        f"of the best passage by day; normal {_safe(normal_cosine(drift.band))}, by "
        f"{_safe(found.embedding_model)}.</p>\n{days if marked else ''}{far}"
    )


def _gaps(found: GapsFound, most: int) -> str:
    if not found.gaps:
        return ""
    groups = "".join(
        f'<div class="gap"><h3>{gap.asked:,} × {_safe(gap.label)}</h3>'
        f'<p class="quiet">{_safe(in_reasons(gap))}</p><ul>'
        + "".join(f"<li>{_safe(example)}</li>" for example in gap.examples)
        + "</ul>"
        + (f'<p class="quiet">Nearest: {_safe(", ".join(gap.pages))}</p>' if gap.pages else "")
        + "</div>"
        for gap in found.gaps[:most]
    )
    more = len(found.gaps) - most
    rest = f'<p class="quiet">{more:,} more groups: ragctl stats gaps</p>' if more > 0 else ""
    return (
        f"<h2>Pages that readers miss</h2>\n<p>{found.questions:,} questions without a good answer "
        f"in {len(found.gaps):,} groups.</p>\n{groups}{rest}"
    )


def _cost(costs: Sequence[Cost]) -> str:
    if not costs:
        return ""
    listed = [*costs, together("all", costs)] if len(costs) > 1 else list(costs)
    headings = ("route", "answers", "tokens in", "out", "cost", "an answer", "100,000", "prices of")
    table = _table(headings, [(one.key, *cost_cells(one)) for one in listed])
    note = "Routes without prices in the settings have no figure."
    missing = any(one.dollars is None for one in costs)
    return f"<h2>Cost</h2>\n{table}" + (f'<p class="quiet">{note}</p>' if missing else "")
