"""What is recommended at a size and, from a million rows on, an index: build, latency, recall."""

from __future__ import annotations

from ragctl.db.connect import Connection
from ragctl.db.database import Database
from ragctl.evaluate.recall import WIDTHS, Sample, measure_recall
from ragctl.evaluate.vector_index import advice
from tests.bench.figures import Absolute, Measured, Ratio, wall_ms
from tests.bench.rows import Corpus

QUESTIONS = 20
M, EF_CONSTRUCTION = 16, 64


def measure(
    corpus: Corpus, label: str, database: Database, connection: Connection, *, builds: bool
) -> Measured:
    """Return the advice, and what an index built as `ragctl index create` does it finds."""
    method, why, command = advice(corpus.rows)
    advised = f"ragctl index status at {label}: {method}, {why}{command and ' (' + command + ')'}"
    if not builds:
        return Measured(remarks=(advised,))
    began = wall_ms()
    with database.transaction():
        database.vector_index.build(
            m=M, ef_construction=EF_CONSTRUCTION, on_progress=lambda _rows: None
        )
    took = (wall_ms() - began) / 1000
    figures = measure_recall(
        [Sample(vector=vector) for vector in corpus.vectors(QUESTIONS)],
        source="questions",
        exact=database.exact_retriever(),
        by_width={width: database.vector_index.scan(width=width) for width in WIDTHS},
        k=5,
        clock=lambda: wall_ms() / 1000,
        report=lambda _number: None,
    )
    return Measured(
        ratios=tuple(
            Ratio(
                name=f"index {label}: width {each.width} / exact",
                value=each.median_ms / figures.exact_ms,
            )
            for each in figures.widths
        ),
        absolutes=(
            Absolute(name=f"index {label}: build", value=took, unit="s", kind="wall"),
            Absolute(name=f"index {label}: exact", value=figures.exact_ms, unit="ms", kind="wall"),
            *(
                Absolute(
                    name=f"index {label}: recall at width {each.width}",
                    value=each.recall,
                    unit="of 1",
                    kind="count",
                )
                for each in figures.widths
            ),
        ),
        remarks=(advised,),
    )
