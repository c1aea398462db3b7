"""An answer without a model: the parts of the passages that answer best, verbatim and cited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ragctl.stages.extract.choose import chosen_units
from ragctl.stages.extract.layout import laid_out, named
from ragctl.stages.extract.units import Unit, units_of

if TYPE_CHECKING:
    from ragctl.records.search import Hit

__all__ = ["WORDS", "extract"]

WORDS: Final = 120
"""About how many words of prose are quoted at most."""

_OPENINGS: Final = 3


def extract(question: str, passages: Sequence[Hit], *, words: int = WORDS) -> str:
    """Return the parts of ``passages`` that answer ``question`` best, each with ``[n]``.

    Sentences, list items, rows of a table and one listing, chosen by
    :func:`~ragctl.stages.extract.choose.chosen_units`. Where no part has a word of the question,
    the first sentences of the first passages are given; where there is no sentence at all, the
    passages are named. ``""`` for no passages.
    """
    if not passages:
        return ""
    pool = [
        unit for place, hit in enumerate(passages) for unit in units_of(hit.body, passage=place)
    ]
    chosen = chosen_units(question, passages, pool, words=words) or _openings(pool)
    if not chosen:
        return "\n".join(named(hit) for hit in passages[:_OPENINGS])
    return laid_out(chosen, passages)


def _openings(pool: Sequence[Unit]) -> list[Unit]:
    """The first sentence of each passage, best passages first."""
    first: dict[int, Unit] = {}
    for unit in pool:
        if unit.kind in ("sentence", "item") and not unit.announces and unit.needs is None:
            first.setdefault(unit.passage, unit)
    return list(first.values())[:_OPENINGS]
