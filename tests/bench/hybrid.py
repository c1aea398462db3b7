"""Nearness and words together against nearness alone, and what a filter saves."""

from __future__ import annotations

from collections.abc import Callable

from ragctl.db.connect import Connection
from ragctl.db.database import Database
from ragctl.records.search import Query
from ragctl.stages.names import names_asked
from tests.bench.figures import Absolute, Measured, Ratio, cpu_ms_of, interleaved
from tests.bench.rows import SHARES, Corpus

SPARE_MS = 2.0
FILTERS = ("t01", "t12", "t50")


def measure(
    corpus: Corpus, label: str, database: Database, connection: Connection, *, rounds: int
) -> Measured:
    """Return the ratios of one size: CPU time of the server's process, no parallel workers."""
    both = database.retriever("hybrid", names_asked=names_asked)
    near = database.retriever("vector", names_asked=names_asked)
    vectors = corpus.vectors(rounds)
    words = [corpus.question() for _ in range(rounds)]
    names = [corpus.name_question() for _ in range(rounds)]

    def asked(texts: list[str], *tracks: str) -> Callable[[int], object]:
        return lambda number: both.retrieve(
            Query(text=texts[number], vector=vectors[number], tracks=tracks, k=5)
        )

    variants: dict[str, Callable[[int], object]] = {
        "vector": lambda number: near.retrieve(Query(text="", vector=vectors[number], k=5)),
        "six words": asked(words),
        "a rare name": asked(names),
        **{track: asked(words, track) for track in FILTERS},
    }
    connection.execute("SET max_parallel_workers_per_gather TO 0")
    clock = cpu_ms_of(connection.info.backend_pid)
    times = interleaved(variants, rounds=rounds, clock=clock)
    connection.execute("SET max_parallel_workers_per_gather TO DEFAULT")
    wanted = 2.0 if corpus.rows >= 100_000 else 2.2
    ratios = [
        Ratio(name=f"hybrid {label}: {kind} / vector alone",
              value=times[kind] / times["vector"], wanted=wanted)
        for kind in ("six words", "a rare name")
    ]  # fmt: skip
    for track in FILTERS:
        allowed = SHARES[track] * times["six words"] + SPARE_MS
        ratios.append(
            Ratio(
                name=f"hybrid {label}: {SHARES[track]:.0%} of rows / (share + {SPARE_MS:g} ms)",
                value=times[track] / allowed,
                wanted=1.0,
            )
        )
    return Measured(
        ratios=tuple(ratios),
        absolutes=tuple(
            Absolute(name=f"hybrid {label}: {kind}", value=took, unit="ms")
            for kind, took in times.items()
        ),
    )
