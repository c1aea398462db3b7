"""Chosen units as an answer in markdown: cited; lists, tables and listings keep their form."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from ragctl.stages.extract.units import Unit, points_on
from ragctl.stages.sentences import split_sentences

if TYPE_CHECKING:
    from ragctl.records.search import Hit

_NUMBERED: Final = re.compile(r"^(?:\d+[.)])+\s+(?=\S)")
_ENDS: Final = ".!?。！？"


def laid_out(units: Sequence[Unit], passages: Sequence[Hit]) -> str:
    """Return units in reading order as text; each sentence, item, table and listing has ``[n]``."""
    blocks: list[str] = []
    for place, quoted in groupby(units, key=lambda unit: unit.passage):
        blocks += _of_passage(list(quoted), passages[place])
    return "\n\n".join(blocks)


def _of_passage(units: Sequence[Unit], hit: Hit) -> list[str]:
    blocks: list[str] = []
    leads = {unit.needs for unit in units}
    led = False
    for (kind, _group), same in groupby(units, key=lambda unit: (unit.kind, _group_of(unit))):
        quoted = list(same)
        place = _where(quoted[0], hit)
        if _wants_place(quoted[0], hit, led=led, is_first=not blocks) and place not in blocks:
            blocks.append(place)
        if kind == "sentence":
            blocks.append(" ".join(_cited(unit, hit, leads) for unit in quoted))
        elif kind == "item":
            blocks.append("\n".join(_item(unit, hit, leads) for unit in quoted))
        else:
            blocks.append(_table(quoted) if kind == "row" else _listing(quoted[0]))
        led = quoted[-1].announces or points_on(quoted[-1].text)
    return blocks


def _wants_place(unit: Unit, hit: Hit, *, led: bool, is_first: bool) -> bool:
    """Whether a reader must be told where a unit stands; what comes before it is not quoted."""
    if unit.kind in ("row", "code"):
        return not led or unit.lines is not None
    opens = is_first and unit.needs is None and hit.section is not None
    return opens and (unit.kind == "item" or unit.leans)


def _group_of(unit: Unit) -> int:
    return 0 if unit.kind == "sentence" else unit.group


def _cited(unit: Unit, hit: Hit, leads: Container[int | None]) -> str:
    """Return a unit, each sentence cited; a colon that nothing follows becomes a full stop."""
    orphan = unit.announces and unit.position not in leads
    text = unit.text.rstrip(": ") if orphan else unit.text
    return " ".join(cited(sentence, hit.n) for sentence in split_sentences(text))


def _item(unit: Unit, hit: Hit, leads: Container[int | None]) -> str:
    return f"{'  ' * unit.depth}{unit.head} {_cited(unit, hit, leads)}"


def _where(unit: Unit, hit: Hit) -> str:
    """Say where something stands that no sentence of the passage announces."""
    label = _NUMBERED.sub("", hit.section or hit.title)
    place = f"{'Under' if hit.section else 'From'} *{label}*"
    if len(split_sentences(label)) > 1:  # a full stop inside would end this lead-in for the check
        place = "From passage"
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
