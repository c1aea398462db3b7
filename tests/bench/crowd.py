"""Several questions at once: how many a second, and how long the slowest wait."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles
from typing import Final

from tests.bench.commands import ASK, QUESTION, RAGCTL
from tests.bench.figures import Absolute, Measured, Ratio, wall_ms
from tests.bench.rig import HANDBOOK, Rig
from tests.ollama_server import OllamaServer, chat

AT_ONCE: Final = (1, 4, 16)
QUESTIONS: Final = 16
ROUNDS: Final = 2


def measure(rig: Rig) -> Measured:
    """Return throughput and 95th percentile of 4 and 16 askers against one; they take turns."""
    seconds: dict[int, list[float]] = {count: [] for count in AT_ONCE}
    waits: dict[int, list[float]] = {count: [] for count in AT_ONCE}
    with OllamaServer() as model:
        model.on("/api/chat", chat("It reads every vector and keeps the nearest ", "[1]."))
        environ = rig.environment(OLLAMA_HOST=model.url, RAGCTL_SITE__NAME="crowd")
        rig.run(*RAGCTL, "ingest", str(HANDBOOK), environ=environ)

        def ask(_number: int) -> float:
            return rig.run(*ASK, QUESTION, environ=environ).wall_ms

        for _ in range(ROUNDS):
            for count in AT_ONCE:
                with ThreadPoolExecutor(count) as askers:
                    began = wall_ms()
                    waits[count].extend(askers.map(ask, range(QUESTIONS)))
                    seconds[count].append((wall_ms() - began) / 1000)
    took = {count: median(each) for count, each in seconds.items()}
    slowest = {count: quantiles(each, n=20)[-1] for count, each in waits.items()}
    others = AT_ONCE[1:]
    return Measured(
        ratios=(
            *(Ratio(name=f"{count} at once: time for {QUESTIONS} answers / one by one",
                    value=took[count] / took[1], wanted=1.0) for count in others),
            *(Ratio(name=f"{count} at once: p95 / p95 alone / {count}",
                    value=slowest[count] / slowest[1] / count) for count in others),
        ),
        absolutes=(
            *(Absolute(name=f"{count} at once: answers a second", value=QUESTIONS / took[count],
                       unit="/s", kind="wall") for count in AT_ONCE),
            *(Absolute(name=f"{count} at once: p95", value=slowest[count], unit="ms", kind="wall")
              for count in AT_ONCE),
        ),
    )  # fmt: skip
