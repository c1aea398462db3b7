"""What answers cost, from the tokens that were counted and the prices of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragctl.records.signals import RouteUsage

PER_ANSWERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars for a million tokens, and the day they were read; ``None`` for no price."""

    route: str
    model: str
    input_per_million: float | None = None
    output_per_million: float | None = None
    read_on: str = ""

    def of(self, prompt_tokens: int, output_tokens: int) -> float | None:
        """Return what so many tokens cost in US dollars, ``None`` where a price is missing."""
        if self.input_per_million is None or self.output_per_million is None:
            return None
        paid = prompt_tokens * self.input_per_million + output_tokens * self.output_per_million
        return paid / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a route or a model wrote and what that costs.

    ``dollars`` is ``None`` without a price or without counted tokens; it covers the ``counted``
    answers alone.
    """

    key: str
    answers: int
    counted: int
    prompt_tokens: int
    output_tokens: int
    dollars: float | None
    read_on: str

    @property
    def per_answer(self) -> float | None:
        """US dollars for one answer, on the mean of the counted ones."""
        return None if self.dollars is None or not self.counted else self.dollars / self.counted

    @property
    def per_100000(self) -> float | None:
        """US dollars for 100,000 answers."""
        return None if self.per_answer is None else self.per_answer * PER_ANSWERS


def costs_by_route(usage: Iterable[RouteUsage], prices: Mapping[str, Price]) -> tuple[Cost, ...]:
    """Return the cost of every route that wrote with counted tokens; prices are by route."""
    return tuple(_cost(one, prices.get(one.route)) for one in usage if one.counted)


def costs_by_model(usage: Iterable[RouteUsage], prices: Mapping[str, Price]) -> tuple[Cost, ...]:
    """Return the same by model; a route that the settings do not name stands for itself."""
    by_model: dict[str, list[Cost]] = {}
    for one in usage:
        if one.counted:
            price = prices.get(one.route)
            by_model.setdefault(price.model if price else one.route, []).append(_cost(one, price))
    return tuple(together(key, costs) for key, costs in by_model.items())


def together(key: str, costs: Sequence[Cost]) -> Cost:
    """Return several costs as one; without a figure where one of them has none."""
    dollars = [cost.dollars for cost in costs]
    known = [one for one in dollars if one is not None]
    is_known = bool(known) and len(known) == len(dollars)
    return Cost(
        key=key,
        answers=sum(cost.answers for cost in costs),
        counted=sum(cost.counted for cost in costs),
        prompt_tokens=sum(cost.prompt_tokens for cost in costs),
        output_tokens=sum(cost.output_tokens for cost in costs),
        dollars=sum(known) if is_known else None,
        read_on=", ".join(sorted({cost.read_on for cost in costs if cost.read_on and is_known})),
    )


def what_if(usage: Iterable[RouteUsage], price: Price) -> Cost:
    """Return what the same tokens would cost at another price.

    Another model cuts text into other tokens: the figure tells the size, not the bill.
    """
    each = [_cost(one, price) for one in usage if one.counted]
    return together(price.route, each)


def _cost(usage: RouteUsage, price: Price | None) -> Cost:
    return Cost(
        key=usage.route,
        answers=usage.answers,
        counted=usage.counted,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        dollars=price.of(usage.prompt_tokens, usage.output_tokens) if price else None,
        read_on=price.read_on if price else "",
    )
