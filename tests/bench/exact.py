"""The five nearest: the product's statement, pgvector's defaults, the plain query, and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragctl.db.connect import Connection
from ragctl.db.database import Database
from ragctl.db.values import to_database
from ragctl.records.search import Query
from ragctl.records.vectors import Vector
from ragctl.stages.names import names_asked
from tests.bench.figures import (
    Absolute,
    Measured,
    Ratio,
    cpu_ms_of,
    interleaved,
    thread_ms,
    wall_ms,
)
from tests.bench.rows import Corpus, Matrix

PLAIN_QUERY = b"""
SELECT id, url, section, body, 1 - (embedding <=> %(vector)s) AS score
FROM chunks ORDER BY embedding <=> %(vector)s LIMIT 5
"""
COPY_WITH_DEFAULTS = b"""
CREATE SCHEMA defaults;
CREATE TABLE defaults.chunks (LIKE public.chunks INCLUDING ALL);
ALTER TABLE defaults.chunks ALTER COLUMN embedding SET STORAGE EXTERNAL;
DO $$
DECLARE columns text;
BEGIN
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
    FROM pg_attribute
    WHERE attrelid = 'public.chunks'::regclass AND attnum > 0 AND attgenerated = ''
      AND NOT attisdropped;
    EXECUTE format('INSERT INTO defaults.chunks (%1$s) SELECT %1$s FROM public.chunks ORDER BY id',
                   columns);
END $$;
"""
DEFAULT_PLACE, OWN_PLACE = b"SET search_path TO defaults, public", b"SET search_path TO public"


def measure(
    corpus: Corpus, label: str, database: Database, connection: Connection, *, rounds: int
) -> Measured:
    """Return the ratios of one size; the table with pgvector's defaults is made and dropped here.

    CPU time of the server's process is compared, with no parallel workers, whose time it does not
    hold; what they save is told as wall time.
    """
    _copy_with_defaults(connection)
    retriever = database.retriever("vector", names_asked=names_asked)
    vectors = corpus.vectors(rounds)
    lengths = np.linalg.norm(corpus.matrix, axis=1)

    def product(number: int) -> object:
        return retriever.retrieve(Query(text="", vector=vectors[number], k=5))

    def plain(number: int) -> object:
        return connection.execute(PLAIN_QUERY, {"vector": to_database(vectors[number])}).fetchall()

    def in_default_place(number: int) -> object:
        connection.execute(DEFAULT_PLACE)
        try:
            return plain(number)
        finally:
            connection.execute(OWN_PLACE)

    def in_process(number: int) -> object:
        return _nearest(corpus.matrix, lengths, vectors[number])

    _require_same(product(0), in_process(0))
    connection.execute("SET max_parallel_workers_per_gather TO 0")
    times = interleaved(
        {"product": product, "default": in_default_place, "plain": plain, "numpy": in_process},
        rounds=rounds,
        clock=cpu_ms_of(connection.info.backend_pid),
        clocks={"numpy": thread_ms},
    )
    connection.execute("SET max_parallel_workers_per_gather TO DEFAULT")
    with_workers = interleaved({"product": product}, rounds=rounds, clock=wall_ms)["product"]
    connection.execute("DROP SCHEMA defaults CASCADE")
    of_numpy = 4.0 if corpus.rows >= 100_000 else 5.0
    return Measured(
        ratios=(
            Ratio(name=f"exact {label}: product / pgvector's defaults",
                  value=times["product"] / times["default"], wanted=0.30),
            Ratio(name=f"exact {label}: product / plain query on its table",
                  value=times["product"] / times["plain"]),
            Ratio(name=f"exact {label}: product / numpy, one thread",
                  value=times["product"] / times["numpy"], wanted=of_numpy),
        ),
        absolutes=(
            *(Absolute(name=f"exact {label}: {name}", value=took, unit="ms")
              for name, took in times.items()),
            Absolute(name=f"exact {label}: product, workers allowed", value=with_workers,
                     unit="ms", kind="wall"),
        ),
    )  # fmt: skip


def _copy_with_defaults(connection: Connection) -> None:
    connection.execute(COPY_WITH_DEFAULTS)
    connection.execute("VACUUM (ANALYZE) defaults.chunks")


def _nearest(matrix: Matrix, lengths: Matrix, vector: Vector) -> list[int]:
    """Return the numbers of the five nearest rows, best first, as numpy finds them."""
    asked = np.frombuffer(vector, dtype=np.float32)
    scores = matrix @ asked
    scores /= lengths
    best = np.argpartition(-scores, 5)[:5]
    found: list[int] = best[np.argsort(-scores[best])].tolist()
    return found


def _require_same(hits: Any, rows: Any) -> None:
    """Require that both found the same: a fast wrong answer is no figure."""
    found = [_row_of(hit.ref) for hit in hits]
    assert found == rows, f"numpy finds rows {rows}, the product {found}"


def _row_of(ref: str) -> int:
    from tests.bench.rows import PASSAGES_A_PAGE

    page, _, place = ref.rpartition("/")[2].partition("#c")
    return int(page) * PASSAGES_A_PAGE + int(place)
