"""Ingest without a model: from markdown on disk to committed rows, and again with no change.

``python -m tests.bench.ingest DATABASE_URL CONTENT`` is the process that is measured.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from ragctl import wiring
from ragctl.db.connect import Connection, connect, register_vectors
from ragctl.db.database import Database
from ragctl.files import find
from ragctl.indexing import IngestOptions
from ragctl.pipeline.ingest import ingest
from ragctl.records.vectors import DIMENSIONS, EmbeddingIdentity, Purpose, Vector
from tests.bench.figures import Absolute, Measured, Ratio, cpu_ms_of
from tests.bench.pages import shipped_settings, write_pages
from tests.bench.rig import Rig, Run

SMALL, MIDDLE, LARGE = 100, 1_000, 10_000
ROUNDS: Final = 3
COPY_TYPES: Final = ("text", "text", "text", "text", "vector")


class InstantEmbedder:
    """Gives a vector that depends on the text alone and costs a hash."""

    identity = EmbeddingIdentity(
        provider="bench", model="instant", digest="", dimensions=DIMENSIONS,
        document_prefix="", query_prefix="",
    )  # fmt: skip

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> list[Vector]:
        """Return a vector a text: its hash as numbers, over and over."""
        return [_vector(hashlib.sha256(text.encode()).digest()) for text in texts]


def _vector(digest: bytes) -> Vector:
    return array("f", [each - 127.5 for each in digest] * (DIMENSIONS // len(digest)))


def ingest_once(url: str, content: Path) -> dict[str, Any]:
    """Ingest a folder with the shipped settings; return seconds by stage and what was stored.

    Stages are told in seconds of CPU, those of the server's process that serves us included.
    """
    settings = shipped_settings()
    connection = connect(url)
    clock = _cpu_clock(connection)
    began, began_cpu = time.perf_counter(), clock()
    found = find(content)
    with Database.over(connection, url) as database, database.ingesting():
        summary = ingest(
            found.sources,
            found.left_out,
            options=IngestOptions(
                root=str(content),
                covers=lambda _page: True,
                parser=wiring.make_parser(settings),
                batch_size=settings.embedding.batch_size,
                in_flight=settings.embedding.in_flight,
            ),
            database=database,
            chunker=wiring.make_chunker(settings),
            embedder=InstantEmbedder(),
            report=lambda _progress: None,
            clock=clock,
        )
        passages = database.chunks.count()
        seconds, cpu = time.perf_counter() - began, clock() - began_cpu
    stages = dict(summary.seconds)
    return {"seconds": seconds, "cpu": cpu, "stages": stages, "passages": passages}


def _cpu_clock(connection: Connection) -> Callable[[], float]:
    """Return a clock of the seconds that this process and its server's were on a processor."""
    backend_ms = cpu_ms_of(connection.info.backend_pid)
    return lambda: time.process_time() + backend_ms() / 1000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Ingested:
    """A measured process: its own account and the system's."""

    seconds: float
    cpu: float
    stages: dict[str, float]
    passages: int
    run: Run


def _in_a_process(rig: Rig, url: str, content: Path) -> _Ingested:
    run = rig.run("-m", "tests.bench.ingest", url, str(content), environ=rig.environment())
    return _Ingested(**json.loads(run.out), run=run)


def measure(rig: Rig) -> Measured:
    """Return passages a second, the parts of an ingest, a run with no change, and peak memory."""
    first, again, bare, floors = [], [], [], []
    for number in range(ROUNDS):
        content = rig.base / "middle"
        write_pages(content, MIDDLE)
        with rig.database(f"middle_{number}") as (database, _):
            first.append(_in_a_process(rig, database.url, content))
            bare.append(_bare_copy(database.url))
            again.append(_in_a_process(rig, database.url, content))
            floors.append(_read_and_hash(content))
    small = _sized(rig, SMALL)
    large = _sized(rig, LARGE)
    rate = median(each.passages / each.seconds for each in first)
    cpu_rate = median(each.passages / each.cpu for each in first)
    stores = [each.stages["store"] for each in first]
    unchanged, floor = large[1], _read_and_hash(rig.base / "sized")
    ratios = (
        Ratio(name=f"ingest of {MIDDLE:,} pages: write / bare COPY of its rows",
              value=median(a / b for a, b in zip(stores, bare, strict=True))),
        Ratio(name=f"ingest of {MIDDLE:,} pages: all / reading, parsing and cutting",
              value=median(each.cpu / _parsing(each) for each in first)),
        Ratio(name=f"no change, {MIDDLE:,} pages: all / reading and hashing the files",
              value=median(a.cpu / b for a, b in zip(again, floors, strict=True))),
        Ratio(name=f"no change, {LARGE:,} pages: all / reading and hashing the files",
              value=unchanged.cpu / floor),
        Ratio(name=f"peak memory: {LARGE:,} pages / {MIDDLE:,}",
              value=large[0].run.peak_mb / median(each.run.peak_mb for each in first)),
    )  # fmt: skip
    absolutes = [
        Absolute(name=f"ingest of {MIDDLE:,} pages", value=rate, unit="passages/s", kind="wall"),
        Absolute(name=f"ingest of {MIDDLE:,} pages, CPU", value=cpu_rate, unit="passages/s"),
        *_parts(f"ingest of {MIDDLE:,} pages", first[-1]),
        *_parts(f"ingest of {LARGE:,} pages", large[0]),
        _memory(f"ingest of {MIDDLE:,} pages", first[-1]),
        _memory(f"ingest of {LARGE:,} pages", large[0]),
        _wall(f"no change, {SMALL:,} pages", small[1]),
        _wall(f"no change, {LARGE:,} pages", unchanged),
        _memory(f"no change, {LARGE:,} pages", unchanged),
    ]
    shutil.rmtree(rig.base / "sized", ignore_errors=True)
    return Measured(ratios=ratios, absolutes=tuple(absolutes))


def _sized(rig: Rig, pages: int) -> tuple[_Ingested, _Ingested]:
    """Ingest so many pages twice: everything, then no change."""
    content = rig.base / "sized"
    shutil.rmtree(content, ignore_errors=True)
    write_pages(content, pages)
    with rig.database(f"sized_{pages}") as (database, _):
        url = database.url
        return _in_a_process(rig, url, content), _in_a_process(rig, url, content)


def _parsing(ingested: _Ingested) -> float:
    return sum(ingested.stages[stage] for stage in ("read", "parse", "chunk"))


def _parts(what: str, ingested: _Ingested) -> list[Absolute]:
    nested = _parsing(ingested) + ingested.stages["store"]  # the ledger's "embed" holds them
    parts = {
        "parse and cut": _parsing(ingested),
        "hand-over": ingested.stages["embed"] - nested,
        "write": ingested.stages["store"],
    }
    return [
        Absolute(name=f"{what}: {part}", value=seconds, unit="s", kind="cpu")
        for part, seconds in parts.items()
    ]


def _memory(what: str, ingested: _Ingested) -> Absolute:
    return Absolute(name=f"{what}: peak", value=ingested.run.peak_mb, unit="MB", kind="memory")


def _wall(what: str, ingested: _Ingested) -> Absolute:
    return Absolute(name=what, value=ingested.seconds, unit="s", kind="wall")


def _bare_copy(url: str) -> float:
    """Return the CPU seconds that a driver and its server take to COPY the same rows, no more.

    The table they go to has no index, no generated column and no reference to pages.
    """
    with connect(url) as connection:
        register_vectors(connection, url)
        rows = connection.cursor(binary=True).execute(
            "SELECT track, url, section, body, embedding FROM chunks ORDER BY id"
        )
        held = rows.fetchall()
        connection.execute("CREATE TABLE bare AS TABLE chunks WITH NO DATA")
        connection.execute("ALTER TABLE bare ALTER COLUMN embedding SET STORAGE PLAIN")
        clock = _cpu_clock(connection)
        began = clock()
        statement = b"COPY bare (track, url, section, body, embedding) FROM STDIN (FORMAT BINARY)"
        with connection.transaction(), connection.cursor().copy(statement) as copy:
            copy.set_types(COPY_TYPES)
            for row in held:
                copy.write_row(row)
        took = clock() - began
        connection.execute("DROP TABLE bare")
    return took


def _read_and_hash(content: Path) -> float:
    """Return the CPU seconds that reading and hashing every file takes: the least there can be."""
    began = time.process_time()
    for folder, _, names in os.walk(content):
        for name in names:
            hashlib.sha256(Path(folder, name).read_bytes()).hexdigest()
    return time.process_time() - began


if __name__ == "__main__":
    print(json.dumps(ingest_once(sys.argv[1], Path(sys.argv[2]))))
