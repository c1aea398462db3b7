"""Measures ingests of many small pages: time, memory and rows a second of the write path.

``python -m tests.soak.measure --pages 10000``
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.ollama_server import Reply, Request
from tests.soak.rig import Rig, a_rig
from tests.soak.site import write_many


def quick_vectors(request: Request) -> Reply:
    """Answer an embedding request with vectors that cost little to make."""
    drawn = [random.Random(text) for text in request.inputs]
    return Reply(
        document={"embeddings": [[one.random() - 0.5 for _ in range(768)] for one in drawn]}
    )


def measured(rig: Rig, site: str, *arguments: str) -> tuple[float, int, dict[str, float]]:
    """Run an ingest and return wall seconds, peak memory in kilobytes and seconds by stage."""
    began = time.perf_counter()
    process = rig.start(site, "ingest", *arguments, "--json", quiet=True)
    assert process.stdout is not None
    document = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"the ingest ended with {process.returncode}"
    seconds: dict[str, float] = document["seconds"]
    return time.perf_counter() - began, usage.ru_maxrss, seconds


def _measure(rig: Rig, root: Path, pages: int) -> None:
    write_many(root, pages, tracks=20)
    with rig.site("many", like=None) as database:
        _line(f"first ingest of {pages:,} pages", *measured(rig, "many", str(root)))
        _line("again, no change", *measured(rig, "many", str(root)))
        with rig.connect(database) as connection:
            found = connection.execute("SELECT count(*) FROM chunks").fetchone()
            connection.execute("TRUNCATE pages CASCADE")
        rows = found[0] if found else 0
        wall, memory, seconds = measured(rig, "many", str(root))
        _line("again, all vectors known", wall, memory, seconds)
        print(f"  write path: {rows / seconds['store']:,.0f} rows/s ({rows:,} rows)", flush=True)
        _line("rebuild", *measured(rig, "many", str(root), "--rebuild"))


def _line(what: str, wall: float, memory: int, seconds: dict[str, float]) -> None:
    stages = ", ".join(f"{name} {spent:.2f}" for name, spent in seconds.items())
    print(f"{what}: {wall:.2f} s, peak {memory / 1024:.0f} MB ({stages})", flush=True)


def main() -> int:
    """Print the measurements of 100 pages and of as many as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    chosen = parser.parse_args()
    with a_rig(quick_vectors) as rig:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "ragctl", "--version"], check=True)
        print(f"start-up: {time.perf_counter() - began:.2f} s", flush=True)
        for pages in sorted({100, chosen.pages}):
            _measure(rig, rig.content.with_name("many"), pages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
