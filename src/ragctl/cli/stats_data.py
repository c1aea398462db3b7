"""What the commands of ``ragctl stats`` and ``ragctl report`` take from database and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ragctl import wiring
from ragctl.errors import UsageError
from ragctl.observe.cost import Price
from ragctl.observe.drift import Drift, drift_of
from ragctl.observe.gaps import Gap, find_gaps, stems_of
from ragctl.observe.periods import before, period_since
from ragctl.observe.signals import Standing, standings
from ragctl.records.signals import FarQuestion, Period, RouteAttempts, RouteUsage, SignalRow

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.settings import Settings

MOST_QUESTIONS: Final = 2000
"""How many questions are grouped at most, the newest ones."""

FAR_A_DAY: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How every signal stands in a period; ``whole`` is ``None`` where nothing was asked."""

    period: Period
    embedding_model: str
    whole: SignalRow | None
    days: tuple[SignalRow, ...]
    standings: tuple[Standing, ...]
    attempts: tuple[RouteAttempts, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftFound:
    """The drift of a period, and the questions behind it."""

    period: Period
    embedding_model: str
    drift: Drift
    questions: tuple[FarQuestion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GapsFound:
    """The groups of a period, over how many questions, and how many had no text to group."""

    period: Period
    gaps: tuple[Gap, ...]
    questions: int
    without_text: int


def period_of(since: str) -> Period:
    """Return the days of an option ``--since``."""
    return period_since(since, now=datetime.now(UTC))


def overview_of(database: Database, period: Period) -> Overview:
    """Return how every signal stands."""
    signals = database.signals
    model = signals.embedding_model()
    wide = Period(since=before(period).since, until=period.until)
    rows = signals.days(wide, embedding_model=model)
    whole = signals.groups(period, by="", embedding_model=model, models={})
    first = period.since.isoformat()
    return Overview(
        period=period,
        embedding_model=model,
        whole=whole[0] if whole else None,
        days=tuple(row for row in rows if row.key >= first),
        standings=standings(rows, whole[0] if whole else None, period=period),
        attempts=tuple(signals.attempts(period)),
    )


def drift_found(database: Database, period: Period) -> DriftFound:
    """Return how far questions moved away from what the site covers."""
    signals = database.signals
    model = signals.embedding_model()
    wide = Period(since=before(period).since, until=period.until)
    calibration = wiring.calibration_of(database, model)
    below = (
        signals.below(period, embedding_model=model, bound=calibration.not_covered)
        if calibration
        else []
    )
    drift = drift_of(signals.days(wide, embedding_model=model), below, period=period)
    far = signals.farthest(drift.shifted, embedding_model=model, at_most=FAR_A_DAY)
    return DriftFound(period=period, embedding_model=model, drift=drift, questions=tuple(far))


def gaps_found(database: Database, period: Period) -> GapsFound:
    """Return the questions that were not answered well, in groups."""
    signals = database.signals
    model = signals.embedding_model()
    calibration = wiring.calibration_of(database, model)
    questions = signals.uncovered(
        period,
        embedding_model=model,
        not_covered=calibration.not_covered if calibration else None,
        weak=calibration.weak if calibration else None,
        at_most=MOST_QUESTIONS,
    )
    weights = signals.weights(sorted(stems_of(questions)))
    return GapsFound(
        period=period,
        gaps=find_gaps(questions, weights),
        questions=len(questions),
        without_text=signals.without_text(period),
    )


def usage_of(database: Database, period: Period) -> list[RouteUsage]:
    """Return what each route wrote in a period."""
    return database.signals.usage(period)


def prices_of(settings: Settings) -> dict[str, Price]:
    """Return the routes of the settings by name, each with its model and its prices if any."""
    return {
        route.name: Price(
            route=route.name,
            model=f"{route.provider}/{route.model}",
            input_per_million=route.price_input_per_million,
            output_per_million=route.price_output_per_million,
            read_on=route.prices_read_on,
        )
        for route in wiring.listed_routes(settings)
    }


def models_of(settings: Settings) -> dict[str, str]:
    """Return the models that routes stand for, by the routes' names."""
    return {name: price.model for name, price in prices_of(settings).items()}


def price_asked(text: str, prices: Mapping[str, Price]) -> Price:
    """Return the price of ``--what-if``: that of a route, or ``IN,OUT`` for a million tokens.

    Raises :class:`~ragctl.errors.UsageError` for a route without one and for what is no price.
    """
    if text in prices:
        price = prices[text]
        if price.of(0, 0) is None:
            raise UsageError(
                f"route {text!r} has no prices",
                hint="Set price_input_per_million and price_output_per_million of it.",
            )
        return price
    try:
        first, second = (float(part) for part in text.split(","))
    except ValueError:
        first = second = -1.0
    if not (0 <= first < 1e9 and 0 <= second < 1e9):
        raise UsageError(
            f"{text!r} is neither a route nor two prices",
            hint="Give a route of the settings, or US dollars for a million tokens in and out, "
            f"as 2,10. Routes: {', '.join(prices)}.",
        )
    return Price(
        route=f"{first:g} in, {second:g} out",
        model="",
        input_per_million=first,
        output_per_million=second,
    )
