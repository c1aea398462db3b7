"""Kills ingests at every point of their work and counts what was survived.

``python -m tests.soak.kills --kills 60 --seed 1``
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.soak.faults import POINTS, survive, trials
from tests.soak.rig import a_rig


def main() -> int:
    """Run the trials, print a line for each that failed, then the counts; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    tried: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    with a_rig() as rig:
        for trial in trials(chosen.kills, seed=chosen.seed):
            tried[trial.point] += 1
            try:
                survive(trial, rig)
            except AssertionError as error:
                print(f"FAILED {error}", flush=True)
                continue
            survived[trial.point] += 1
    for point in POINTS:
        print(f"{point:10} {survived[point]:3} of {tried[point]:3} kills survived")
    print(f"{'all':10} {survived.total():3} of {tried.total():3} (seed {chosen.seed})")
    return 0 if survived == tried else 1


if __name__ == "__main__":
    sys.exit(main())
