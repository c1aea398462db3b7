"""A route: who writes, within which time, at what price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.gateway.deadline import Deadlines
    from ragctl.protocols import Generator
    from ragctl.records.answers import Draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to an answer.

    ``key`` names it in the breakers: provider, address and model, so that routes of other sites
    that share a name do not mix. ``make`` returns its generator for given deadlines, or raises
    :class:`~ragctl.errors.ModelError` where something is missing here, such as a key. Prices are
    US dollars for a million tokens.
    """

    name: str
    key: str
    deadlines: Deadlines
    make: Callable[[Deadlines], Generator]
    model: str = ""
    price_input_per_million: float | None = None
    price_output_per_million: float | None = None

    def cost_usd(self, draft: Draft) -> float | None:
        """Return what a draft cost, ``None`` where a price or a count of tokens is not known."""
        prices = (self.price_input_per_million, self.price_output_per_million)
        counts = (draft.prompt_tokens, draft.output_tokens)
        total = 0.0
        for price, count in zip(prices, counts, strict=True):
            if price is None or count is None:
                return None
            total += price * count / 1e6
        return total
