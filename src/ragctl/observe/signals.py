"""The signals of an operator: what each is, what a change of it means, and how it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from ragctl.observe.bands import Band, Normal, Point, Scale, Side, normal_of
from ragctl.observe.periods import days_of

if TYPE_CHECKING:
    from ragctl.records.signals import Period, SignalRow

Unit = Literal["count", "ms", "share", "per 1,000", "cosine", "probability", "tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One number that is followed by day.

    ``worse`` is the side of its band that somebody should be told of, empty for none; ``of`` how
    many questions a value is taken from; ``meaning`` what a change may come from.
    """

    key: str
    label: str
    unit: Unit
    scale: Scale
    worse: Side
    meaning: str
    value: Callable[[SignalRow], float | None]
    of: Callable[[SignalRow], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A signal on one day, on which side of its band it lies, the band being for its size."""

    point: Point
    side: Side
    band: Band | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a signal stands: its value over the whole period, its days, and what is normal.

    ``band`` is ``None`` where the days before are too few to tell.
    """

    signal: Signal
    value: float | None
    days: tuple[Day, ...]
    band: Band | None

    @property
    def left(self) -> tuple[Day, ...]:
        """The days on which it left its band, on either side."""
        return tuple(day for day in self.days if day.side)

    @property
    def alarms(self) -> tuple[Day, ...]:
        """The days on which it left its band for the worse."""
        return tuple(day for day in self.days if day.side and day.side == self.signal.worse)


def standings(
    rows: Sequence[SignalRow], whole: SignalRow | None, *, period: Period
) -> tuple[Standing, ...]:
    """Return how every signal stands.

    ``rows`` are the days of the period and of those before it, which tell what is normal;
    ``whole`` is the period in one row, ``None`` where nothing was asked.
    """
    by_day = {row.key: row for row in rows}
    first = period.since.isoformat()
    earlier = [row for row in rows if row.key < first]
    return tuple(_standing(signal, by_day, earlier, whole, period) for signal in SIGNALS)


def _standing(
    signal: Signal,
    by_day: Mapping[str, SignalRow],
    earlier: Sequence[SignalRow],
    whole: SignalRow | None,
    period: Period,
) -> Standing:
    normal = normal_of([point_of(signal, row.key, row) for row in earlier], signal.scale)
    days = []
    for day in days_of(period):
        point = point_of(signal, day, by_day.get(day))
        days.append(judged(point, normal))
    return Standing(
        signal=signal,
        value=signal.value(whole) if whole else None,
        days=tuple(days),
        band=normal.band() if normal else None,
    )


def judged(point: Point, normal: Normal | None) -> Day:
    """Return a day with what is normal for it."""
    if normal is None:
        return Day(point=point, side="")
    band = normal.band(point.questions) if point.counts else None
    return Day(point=point, side=normal.side_of(point), band=band)


def point_of(signal: Signal, day: str, row: SignalRow | None) -> Point:
    """Return a signal of one day; a day without a row had no questions."""
    if row is None:
        return Point(day=day, value=None, questions=0)
    return Point(day=day, value=signal.value(row), questions=signal.of(row))


def answers(row: SignalRow) -> int:
    """Return how many questions got an answer of any kind."""
    return row.questions - row.failed - row.stopped


def share(part: float, whole: float) -> float | None:
    """Return a share, ``None`` of nothing."""
    return part / whole if whole else None


def _time(key: str, label: str, meaning: str) -> Signal:
    return Signal(
        key=key, label=label, unit="ms", scale="ratio", worse="above", meaning=meaning,
        value=lambda row: getattr(row, key), of=answers,
    )  # fmt: skip


def _tokens(key: str, label: str, meaning: str) -> Signal:
    return Signal(
        key=key, label=label, unit="tokens", scale="ratio", worse="above", meaning=meaning,
        value=lambda row: getattr(row, key), of=answers,
    )  # fmt: skip


def _outcome(key: str, label: str, of: Callable[[SignalRow], int], meaning: str) -> Signal:
    return Signal(
        key=key, label=label, unit="share", scale="share", worse="above", meaning=meaning,
        value=lambda row: share(getattr(row, key), of(row)), of=of,
    )  # fmt: skip


def _questions(row: SignalRow) -> int:
    return row.questions


def _voices(row: SignalRow) -> int:
    return row.good + row.bad


def _embedded(row: SignalRow) -> int:
    return row.embedded


_COST = "prompts or answers changed their length, and time and cost with them"

SIGNALS: Final[tuple[Signal, ...]] = (
    Signal(
        key="questions", label="questions", unit="count", scale="ratio", worse="",
        meaning="how many people ask", value=lambda row: float(row.questions), of=_questions,
    ),
    _time("p50_ms", "end to end, p50", "what half of the readers wait at most"),
    _time("p95_ms", "end to end, p95", "what one in twenty waits at least: queues show here"),
    _time("compute_ms", "compute", _COST),
    _time("waiting_ms", "waiting", "others are served first, a model is loaded, the network"),
    _time("embed_ms", "embed", "the embedding model is busy or being loaded"),
    _time("search_ms", "search", "the database is busy, or the index has grown"),
    _time("prefill_ms", "prefill", "longer prompts, or a slower model server"),
    _time("decode_ms", "decode", "longer answers, or a slower model server"),
    _tokens("prompt_tokens_median", "tokens in", _COST),
    _tokens("output_tokens_median", "tokens out", _COST),
    _outcome("refused", "refused", answers, "passages are found less well, or a stricter model"),
    _outcome("failed", "failed", _questions, "a model, the database or the program is at fault"),
    _outcome("incomplete", "incomplete", answers, "answers break off or run in circles"),
    _outcome("extractive", "extractive", answers, "no model could be reached, or none is set up"),
    Signal(
        key="flagged_per_1000", label="flags per 1,000", unit="per 1,000", scale="share",
        worse="above", meaning="citations or statements go wrong; perhaps an injection",
        value=lambda row: share(row.flagged, answers(row)), of=answers,
    ),
    Signal(
        key="top_cosine", label="top cosine", unit="cosine", scale="plain", worse="below",
        meaning="questions drift away from what the site covers",
        value=lambda row: row.top_cosine, of=_embedded,
    ),
    Signal(
        key="probability", label="probability", unit="probability", scale="plain", worse="below",
        meaning="the passages found can answer fewer of the questions",
        value=lambda row: row.probability, of=_embedded,
    ),
    _outcome("fallbacks", "fallbacks", answers, "a model server is failing"),
    Signal(
        key="cached", label="from the cache", unit="share", scale="share", worse="below",
        meaning="other questions are asked, or what was kept is dropped too often",
        value=lambda row: share(row.cached, answers(row)), of=answers,
    ),
    Signal(
        key="good", label="good feedback", unit="share", scale="share", worse="below",
        meaning="what readers say, the only direct measure of whether answers are right",
        value=lambda row: share(row.good, _voices(row)), of=_voices,
    ),
)  # fmt: skip
