"""Figures that must be reached: ``facts=0.8``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ragctl.errors import UsageError

NAMES: Final = {
    "facts": "facts_at_k",
    "pages": "pages_at_k",
    "pages@1": "pages_at_1",
    "sections": "sections_at_k",
    "mrr": "mrr",
}
"""How users name the figures of retrieval, and the names that documents give them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The least value of a figure; ``name`` is what the user calls it."""

    name: str
    figure: str
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A bound that a search does not keep; ``value`` is ``None`` where no question counts."""

    label: str
    bound: Bound
    value: float | None


def parse_bounds(texts: Sequence[str], *, names: Mapping[str, str] = NAMES) -> tuple[Bound, ...]:
    """Return the bounds written as ``NAME=SHARE``.

    Raises :class:`~ragctl.errors.UsageError` for an unknown name or no share from 0 to 1.
    """
    return tuple(_parsed(text, names) for text in texts)


def _parsed(text: str, names: Mapping[str, str]) -> Bound:
    name, _, number = (part.strip() for part in text.partition("="))
    figures = {**names, **{figure: figure for figure in names.values()}}
    hint = f"Write NAME=SHARE, for example facts=0.8; the names are {', '.join(names)}."
    if name not in figures:
        near = difflib.get_close_matches(name, names, n=1)
        suggestion = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"--fail-under: there is no figure {name!r}", hint=f"{hint}{suggestion}")
    try:
        least = float(number)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise UsageError(f"--fail-under: {number!r} is no share from 0 to 1", hint=hint)
    return Bound(name=name, figure=figures[name], least=least)


def broken_bounds(
    bounds: Sequence[Bound], figures: Mapping[str, Mapping[str, float | None]]
) -> tuple[Broken, ...]:
    """Return the bounds that are not kept, by label; a figure without questions keeps none."""
    return tuple(
        Broken(label=label, bound=bound, value=value)
        for label, values in figures.items()
        for bound in bounds
        if (value := values[bound.figure]) is None or value < bound.least
    )
