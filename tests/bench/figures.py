"""Figures of a measurement: ratios, which are checked, and absolute ones, which only inform."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

SLACK: Final = 1.2
"""A ratio is worse than its kept one once it is this many times as high."""

BUSY_LOAD: Final = 2.0
"""Above this load average, absolute wall times say more of the neighbours than of the program."""

NS_PER_MS: Final = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One thing against another of the same run: the lower the better.

    ``wanted`` is the most that is aimed at; ``None`` where nothing was promised.
    """

    name: str
    value: float
    wanted: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Absolute:
    """A figure of this machine at this hour.

    ``kind`` is ``cpu``, ``wall``, ``memory`` or ``count``.
    """

    name: str
    value: float
    unit: str
    kind: str = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one measurement found; ``remarks`` say what was left out and why."""

    ratios: tuple[Ratio, ...] = ()
    absolutes: tuple[Absolute, ...] = ()
    remarks: tuple[str, ...] = ()


def interleaved(
    variants: Mapping[str, Callable[[int], object]],
    *,
    rounds: int,
    clock: Callable[[], float],
    clocks: Mapping[str, Callable[[], float]] | None = None,
) -> dict[str, float]:
    """Return the median of each variant in the clock's unit; they take turns in every round.

    Each is called with the number of the round, once before anything is measured. ``clocks`` are
    those of variants that are timed otherwise.
    """
    times: dict[str, list[float]] = {name: [] for name in variants}
    for run in variants.values():
        run(0)
    for number in range(rounds):
        for name, run in variants.items():
            own = (clocks or {}).get(name, clock)
            began = own()
            run(number)
            times[name].append(own() - began)
    return {name: median(took) for name, took in times.items()}


def paired(one: Sequence[float], other: Sequence[float], *, at_least: float = 1e-9) -> float:
    """Return the median of the ratios of two series that were measured side by side."""
    return median(a / max(b, at_least) for a, b in zip(one, other, strict=True))


def cpu_ms_of(pid: int) -> Callable[[], float]:
    """Return a clock of the milliseconds that a process was on a processor; else of the wall.

    Linux tells nanoseconds in ``schedstat``; elsewhere wall time has to do.
    """
    try:
        kept_open = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)  # opening costs most of a look
    except OSError:
        return wall_ms
    return lambda: int(os.pread(kept_open, 128, 0).split()[0]) / NS_PER_MS


def has_cpu_clock() -> bool:
    """Tell whether the CPU time of another process can be read here."""
    return Path(f"/proc/{os.getpid()}/schedstat").exists()


def wall_ms() -> float:
    """Return the milliseconds of a clock on the wall."""
    return time.perf_counter() * 1000


def thread_ms() -> float:
    """Return the milliseconds that this thread was on a processor."""
    return time.thread_time() * 1000


def worse(
    kept: Mapping[str, Any], ratios: Sequence[Ratio], *, slack: float = SLACK
) -> tuple[str, ...]:
    """Return a line for each ratio that is worse than ``slack`` times its kept one.

    Ratios that were not kept, or not measured this time, are passed over.
    """
    known: Mapping[str, float] = kept["ratios"]
    return tuple(
        f"{ratio.name}: {ratio.value:.3g}, kept {known[ratio.name]:.3g}, "
        f"at most {slack * known[ratio.name]:.3g}"
        for ratio in ratios
        if ratio.name in known and ratio.value > slack * known[ratio.name]
    )


def shown(measured: Measured, *, is_busy: bool) -> list[str]:
    """Return the lines that a person reads; ``~`` marks wall times of a busy machine."""
    lines = []
    for ratio in measured.ratios:
        wanted = "" if ratio.wanted is None else f"   wanted at most {ratio.wanted:g}"
        missed = "   MISSED" if ratio.wanted is not None and ratio.value > ratio.wanted else ""
        lines.append(f"  {ratio.name:<58} {ratio.value:>8.3g} x{wanted}{missed}")
    for figure in measured.absolutes:
        mark = "~" if is_busy and figure.kind == "wall" else " "
        lines.append(
            f"  {figure.name:<58}{mark}{figure.value:>9,.4g} {figure.unit} ({figure.kind})"
        )
    return [*lines, *(f"  - {remark}" for remark in measured.remarks)]
