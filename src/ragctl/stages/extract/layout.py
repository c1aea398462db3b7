"""Chosen units as an answer in markdown: each cited, lists and tables and listings in their form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from ragctl.records import Hit
from ragctl.stages.extract.units import Unit, points_on

_ENDS: Final = ".!?。！？"


def laid_out(units: Sequence[Unit], passages: Sequence[Hit]) -> str:
    """Return units in reading order as text; each sentence, item, table and listing has ``[n]``."""
    blocks: list[str] = []
    for place, quoted in groupby(units, key=lambda unit: unit.passage):
        blocks += _of_passage(list(quoted), passages[place])
    return "\n\n".join(blocks)


def _of_passage(units: Sequence[Unit], hit: Hit) -> list[str]:
    blocks: list[str] = []
    led = False
    for (kind, _group), same in groupby(units, key=lambda unit: (unit.kind, _group_of(unit))):
        quoted = list(same)
        if (
            not led
            and _wants_place(quoted[0], is_first=not blocks)
            and (hit.section or kind in ("row", "code"))
        ):
            blocks.append(_where(quoted[0], hit))
        if kind == "sentence":
            blocks.append(" ".join(cited(unit.text, hit.n) for unit in quoted))
        elif kind == "item":
            blocks.append("\n".join(_item(unit, hit.n) for unit in quoted))
        else:
            blocks.append(_table(quoted) if kind == "row" else _listing(quoted[0]))
        led = quoted[-1].announces or points_on(quoted[-1].text)
    return blocks


def _wants_place(unit: Unit, *, is_first: bool) -> bool:
    """Whether a reader must be told where a unit stands; what comes before it is not quoted."""
    if unit.kind in ("row", "code"):
        return True
    return is_first and (unit.kind == "item" or unit.leans) and unit.needs is None


def _group_of(unit: Unit) -> int:
    return 0 if unit.kind == "sentence" else unit.group


def _item(unit: Unit, n: int) -> str:
    return f"{'  ' * unit.depth}{unit.head} {cited(unit.text, n)}"


def _where(unit: Unit, hit: Hit) -> str:
    """Say where something stands that no sentence of the passage announces."""
    place = f"Under *{hit.section}*" if hit.section else f"From *{hit.title}*"
    if unit.lines:
        first, last, of = unit.lines
        place += f", lines {first}–{last} of {of}"
    return f"{place} [{hit.n}]:"


def _table(rows: Sequence[Unit]) -> str:
    lines = [*rows[0].head.split("\n"), *(row.text for row in rows)]
    return "\n".join(line if line.startswith("|") else f"| {line} |" for line in lines)


def _listing(unit: Unit) -> str:
    longest = max((len(run) for run in unit.text.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{unit.head}\n{unit.text}\n{fence}"


def cited(text: str, n: int) -> str:
    """Put the citation before the full stop, so that it belongs to this sentence alone."""
    if text[-1] == ":":
        return f"{text[:-1]} [{n}]:"
    body, end = (text[:-1], text[-1]) if text[-1] in _ENDS else (text.rstrip(":;,"), ".")
    return f"{body} [{n}]{end}"


def named(hit: Hit) -> str:
    """Point to a passage of which nothing can be quoted."""
    place = f"{hit.title} › {hit.section}" if hit.section else hit.title
    return f"“{place}” may answer this [{hit.n}]."
