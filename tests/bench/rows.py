"""Rows to search: clustered vectors, and texts whose words are as unevenly spread as in prose.

Words follow Zipf's law over a vocabulary taken from the handbook: its words by frequency, then
pairs of them written as one, so that most words are rare as they are in a large site.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ragctl.db.connect import Connection
from ragctl.db.database import Database
from ragctl.records.chunks import Chunk, EmbeddedChunk
from ragctl.records.pages import Page
from ragctl.records.vectors import DIMENSIONS, Vector
from ragctl.stages.names import names_of
from tests.bench.rig import HANDBOOK

SHARES: Final = {"t01": 0.01, "t12": 0.12, "t50": 0.50, "trest": 0.37}
"""Tracks by the share of rows that they hold."""

VOCABULARY: Final = 30_000
WORDS_A_PASSAGE: Final = 110
PASSAGES_A_PAGE: Final = 20
ROWS_A_NAME: Final = 500
_ZIPF_SHIFT: Final = 2.7
Matrix = Any  # an array of numpy: float32, a row a vector


class Corpus:
    """So many rows, the same for the same number: vectors, texts, and questions about them."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._chance = np.random.default_rng(rows)
        clusters = max(16, rows // 200)
        centres = self._chance.standard_normal((clusters, DIMENSIONS), dtype=np.float32)
        self._centres = centres
        self.matrix: Matrix = self._near(self._chance.integers(clusters, size=rows))

    def _near(self, of: Matrix) -> Matrix:
        noise = self._chance.standard_normal((len(of), DIMENSIONS), dtype=np.float32)
        return self._centres[of] + 0.7 * noise

    def vectors(self, count: int) -> list[Vector]:
        """Return vectors of questions: each near a cluster, as a question is near its subject."""
        drawn = self._near(self._chance.integers(len(self._centres), size=count))
        return [array("f", row.tobytes()) for row in drawn]

    def body(self) -> str:
        """Return the text of a passage."""
        words = vocabulary()
        drawn = self._chance.choice(len(words), size=WORDS_A_PASSAGE, p=_weights())
        return " ".join(words[each] for each in drawn).capitalize() + "."

    def question(self) -> str:
        """Return six words: none of the commonest, else each rank's decade alike."""
        words = vocabulary()
        ranks = np.exp(self._chance.uniform(np.log(30), np.log(5000), size=6)).astype(int)
        return " ".join(words[rank] for rank in ranks)

    def name_question(self) -> str:
        """Return a question for a name that stands in one passage alone."""
        number = int(self._chance.integers(max(1, self.rows // ROWS_A_NAME)))
        return f"what does {name(number)} do"


def name(number: int) -> str:
    """Return an identifier that one passage holds."""
    return f"planted_name_{number}"


@cache
def vocabulary() -> list[str]:
    """Return the words of the handbook, the commonest first, then pairs of them as one word."""
    texts = [page.read_text(encoding="utf-8") for page in sorted(HANDBOOK.rglob("*.md"))]
    counted = Counter(re.findall(r"[a-z]{2,}", " ".join(texts).lower()))
    words = [word for word, _ in sorted(counted.items(), key=lambda each: (-each[1], each[0]))]
    longer = [word for word in words if len(word) > 3]
    pairs = (
        one + other
        for shift in range(1, 60)
        for one, other in zip(longer, longer[shift:], strict=False)
    )
    return list(dict.fromkeys((*words, *pairs)))[:VOCABULARY]


@cache
def _weights() -> Matrix:
    weights = 1 / (np.arange(len(vocabulary())) + _ZIPF_SHIFT)
    return weights / weights.sum()


def load(corpus: Corpus, database: Database, connection: Connection) -> None:
    """Store the rows as an ingest does, track by track, and count their terms.

    The index of words is put aside meanwhile: filled row by row, it takes most of the time.
    """
    definition = connection.execute("SELECT pg_get_indexdef('chunks_search'::regclass)").fetchone()
    assert definition is not None
    connection.execute("DROP INDEX chunks_search")
    bounds = _tracks(corpus.rows)
    for begin in range(0, corpus.rows, PASSAGES_A_PAGE):
        rows = range(begin, min(begin + PASSAGES_A_PAGE, corpus.rows))
        track = next(name for name, end in bounds if begin < end)
        _store(begin // PASSAGES_A_PAGE, track, rows, corpus, database)
    connection.execute(definition[0].encode())
    connection.execute("VACUUM (ANALYZE) chunks")
    database.chunks.refresh_terms()
    connection.execute("ANALYZE")


def _tracks(rows: int) -> list[tuple[str, int]]:
    ends, end = [], 0.0
    for track, share in SHARES.items():
        end += share * rows
        ends.append((track, round(end)))
    ends[-1] = (ends[-1][0], rows)
    return ends


def _store(number: int, track: str, rows: range, corpus: Corpus, database: Database) -> None:
    url = f"/{track}/{number}"
    page = Page(
        url=url, track=track, title=f"Page {number}", source_path=f"{url}.md", sha256="",
        text="", front_matter={}, is_landing=False, is_draft=False, order=(float(number), ""),
        headings=(), source_lines=(1,),
    )  # fmt: skip
    passages = [
        EmbeddedChunk(
            chunk=_chunk(url, track, place, row, corpus.body()),
            vector=array("f", corpus.matrix[row].tobytes()),
            content_hash="",
        )
        for place, row in enumerate(rows)
    ]
    with database.transaction():
        page_id = database.pages.store(page, parsed_with="bench", refused=0)
        database.chunks.replace(page_id, passages, naming=_naming)


def _chunk(url: str, track: str, place: int, row: int, body: str) -> Chunk:
    if row % ROWS_A_NAME == ROWS_A_NAME // 2:
        body += f" It is `{name(row // ROWS_A_NAME)}` that does this."
    return Chunk(
        url=url, track=track, position=place, ref=f"{url}#c{place}", section="Section",
        anchor="section", breadcrumb="Section", start_char=place, end_char=place + 1, body=body,
    )  # fmt: skip


def _naming(text: str) -> tuple[Sequence[str], str]:
    found = names_of(text)
    return found.names, found.words
