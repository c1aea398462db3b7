"""Tries the fuzz tests on ever new inputs, so many minutes a target, and counts what was tried.

``python -m tests.soak.fuzz --minutes 10 --only parse --only chunk``
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.property import Property, Round

MODULES = Path(__file__).parent.parent / "fuzz"
TARGETS = sorted(path.stem.removeprefix("test_") for path in MODULES.glob("test_*.py"))
INPUTS_A_ROUND = 300
MINUTES = 10.0


def main() -> int:
    """Try each target in turn and print its count; 1 where an input with a fault was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for each target")
    parser.add_argument("--only", action="append", choices=TARGETS, help="this target; repeatable")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # of hypothesis, about the length of what it prints
    tried = found = 0
    for target in chosen.only or TARGETS:
        tries, faults = _soak(target, seconds=chosen.minutes * 60)
        print(f"{target:12} {tries:9,} inputs, {faults} faults", flush=True)
        tried, found = tried + tries, found + faults
    print(f"{'all':12} {tried:9,} inputs, {found} faults")
    return 1 if found else 0


def properties_of(target: str) -> list[Property]:
    """Return what holds for every input of a target."""
    module = importlib.import_module(f"tests.fuzz.test_{target}")
    tests = [vars(test).get("fuzzed") for test in vars(module).values() if callable(test)]
    return [one for one in tests if isinstance(one, Property)]


def _soak(target: str, *, seconds: float) -> tuple[int, int]:
    """Return how many inputs were tried within these seconds, and how many properties failed."""
    end = time.monotonic() + seconds
    sound: Sequence[Property] = properties_of(target)
    tried = faults = 0
    for one in itertools.cycle(tuple(sound)):
        if not sound or time.monotonic() >= end:
            break
        if one not in sound:
            continue
        rounds = Round(one, inputs=INPUTS_A_ROUND, seconds_left=lambda: end - time.monotonic())
        try:
            rounds.run()
        except Exception:
            print(f"FAILED {target}: {one.name}\n{traceback.format_exc(limit=-2)}", flush=True)
            sound = [other for other in sound if other is not one]
            faults += 1
        tried += rounds.tried
    return tried, faults


if __name__ == "__main__":
    sys.exit(main())
