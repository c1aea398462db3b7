"""Measures what ragctl promises of its speed, as ratios of one run on this machine.

``python -m tests.bench --rows 4k,10k --only exact,hybrid``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.figures import (
    BUSY_LOAD,
    Measured,
    Ratio,
    has_cpu_clock,
    shown,
    worse,
)
from tests.bench.rig import Rig, a_rig

SEARCHES = ("exact", "hybrid")
MEASUREMENTS = (*SEARCHES, "commands", "ingest", "embedding", "crowd", "index")
MILLION = 1_000_000
KEPT = Path(__file__).with_name("kept.json")


def main() -> int:
    """Print the figures; 1 where ``--check`` finds one that is worse than its kept ratio."""
    chosen = _arguments()
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # before numpy is loaded: it is compared on one thread
    measured: list[Measured] = []
    loads = [os.getloadavg()[0]]
    try:
        with a_rig() as rig:
            print(f"measuring in {rig.base}", file=sys.stderr, flush=True)
            for title, found in _measurements(rig, chosen):
                loads.append(os.getloadavg()[0])
                print(title, *shown(found, is_busy=max(loads) > BUSY_LOAD), sep="\n", flush=True)
                measured.append(found)
                if chosen.json:  # after each: a run that is stopped has said something
                    text = json.dumps(_document(measured, loads), indent=2)
                    chosen.json.write_text(text + "\n", encoding="utf-8")
    except KeyboardInterrupt:
        print("stopped; the server and its folder are gone", file=sys.stderr)
        return 130
    if max(loads) > BUSY_LOAD:
        print(f"~ wall times of a busy machine (load {max(loads):.1f}): not to be taken as facts")
    return _checked(chosen.check, [ratio for each in measured for ratio in each.ratios])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--rows", type=_sizes, default=_sizes("4k,10k,100k"), metavar="4k,10k,...")
    parser.add_argument("--only", type=_names, default=MEASUREMENTS, metavar="NAME,...",
                        help=f"of {', '.join(MEASUREMENTS)}")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--check", type=Path, metavar="FILE",
                        help=f"hold the ratios against a file's, such as {KEPT.name}")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=25, help="searches a variant (25)")
    return parser.parse_args()


def _sizes(text: str) -> dict[str, int]:
    factors = {"k": 1000, "m": MILLION}
    try:
        return {
            each: int(each.rstrip("km")) * factors.get(each[-1], 1)
            for each in text.lower().split(",")
        }
    except (ValueError, IndexError):
        raise argparse.ArgumentTypeError(f"{text!r}: write sizes as 4k,100k,1m") from None


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in MEASUREMENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(MEASUREMENTS)}")
    return names


def _measurements(rig: Rig, chosen: argparse.Namespace) -> Iterator[tuple[str, Measured]]:
    """Yield a title and what was found; each measurement is loaded when its turn comes."""
    if set(chosen.only) & {*SEARCHES, "index"}:
        for label, rows in chosen.rows.items():
            yield from _searches(rig, label, rows, chosen)
    others: dict[str, Callable[[Rig], Measured]] = {}
    if "commands" in chosen.only:
        from tests.bench import commands

        others["Whole commands"] = commands.measure
    if "ingest" in chosen.only:
        from tests.bench import ingest

        others["Ingest without a model"] = ingest.measure
    if "embedding" in chosen.only:
        from tests.bench import embedding

        others["Embedding"] = embedding.measure
    if "crowd" in chosen.only:
        from tests.bench import crowd

        others["Several at once"] = crowd.measure
    for title, measure in others.items():
        yield title, measure(rig)


def _searches(
    rig: Rig, label: str, rows: int, chosen: argparse.Namespace
) -> Iterator[tuple[str, Measured]]:
    from tests.bench import exact, hybrid, index
    from tests.bench.rows import Corpus, load

    corpus = Corpus(rows)
    with rig.database(f"rows_{label}", fill=partial(load, corpus)) as (database, connection):
        rounds = chosen.rounds if rows < 50_000 else max(5, chosen.rounds // 3)
        if "exact" in chosen.only:
            found = exact.measure(corpus, label, database, connection, rounds=rounds)
            yield f"The five nearest of {rows:,}", found
        if "hybrid" in chosen.only:
            found = hybrid.measure(corpus, label, database, connection, rounds=rounds)
            yield f"Nearness and words, {rows:,} rows", found
        if "index" in chosen.only:
            builds = rows >= MILLION
            found = index.measure(corpus, label, database, connection, builds=builds)
            yield f"The index at {rows:,}", found


def _document(measured: list[Measured], loads: list[float]) -> dict[str, Any]:
    return {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "date": date.today().isoformat(),
        "highest_load": round(max(loads), 1),
        "cpu_clock": has_cpu_clock(),
        "ratios": {ratio.name: round(ratio.value, 4) for each in measured for ratio in each.ratios},
        "absolute": {
            figure.name: f"{figure.value:.4g} {figure.unit} {figure.kind}"
            for each in measured
            for figure in each.absolutes
        },
    }


def _checked(file: Path | None, ratios: list[Ratio]) -> int:
    if file is None:
        return 0
    kept = json.loads(file.read_text(encoding="utf-8"))
    lines = worse(kept, ratios)
    for line in lines:
        print(f"WORSE {line}")
    compared = sum(ratio.name in kept["ratios"] for ratio in ratios)
    print(f"{compared - len(lines)} of {compared} ratios are as good as on {kept['date']}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
