"""Questions as they are searched for, and what was found."""

from __future__ import annotations

from dataclasses import dataclass

from ragctl.records.vectors import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question on its way to the passages; no tracks and no pages mean all of them.

    ``vector`` is empty where the question was not embedded; ``pages`` are addresses.
    """

    text: str
    vector: Vector
    tracks: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    k: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found: ``n`` counts from 1 in the order of ``score``, best first.

    ``vector_score`` is the cosine similarity, -1 to 1, ``None`` where the question was not
    embedded; ``keyword_score`` is the share of the best keyword score, 0 to 1, ``None`` where no
    keyword search took part. ``named`` says that it was brought in for a name of the question that
    hardly any passage holds.
    """

    n: int
    chunk_id: int
    ref: str
    url: str
    title: str
    track: str
    section: str | None
    anchor: str | None
    body: str
    start_char: int
    end_char: int
    source_path: str
    score: float
    vector_score: float | None
    keyword_score: float | None = None
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageRank:
    """Where a passage stands among all of the tracks searched, counted exactly from 1.

    ``chunk_id``, ``rank`` and ``score`` are ``None`` where none of the passages asked about lies
    in those tracks; ``score_at_k`` where there are fewer than k.
    """

    chunk_id: int | None
    rank: int | None
    score: float | None
    among: int
    score_at_k: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageRanks:
    """Where passages stand by nearness, by words, and by both, each for the best of them.

    Where the question was not embedded ``by_nearness`` and ``by_both`` rank nothing; ``by_words``
    ranks the passages that hold a word of it. ``searched`` counts those asked about in the tracks
    searched, ``passages`` all in these; ``is_reached`` tells whether an arm of hybrid search brings
    in the best by both.
    """

    by_nearness: PassageRank
    by_words: PassageRank
    by_both: PassageRank
    searched: int
    passages: int
    is_reached: bool

    def in_mode(self, mode: str) -> PassageRank:
        """Return the ranking that decides in a mode: ``hybrid``, ``vector`` or ``keyword``."""
        ranking = {"vector": self.by_nearness, "keyword": self.by_words}
        return ranking.get(mode, self.by_both)
