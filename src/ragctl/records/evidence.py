"""How well what was found bears a question out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

EvidenceVerdict = Literal["", "strong", "weak", "not covered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermShare:
    """What a term of the question adds to the keyword score of a passage that holds it.

    ``passages`` counts those that hold it, ``idf`` is its weight, ``share`` its part of the sum
    before that is divided by the best one; ``is_name`` says that it is an exact name there.
    """

    chunk_id: int
    term: str
    passages: int
    idf: float
    share: float
    is_name: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredTerm:
    """A term of a question: how many passages hold it, and the ids of those found that do.

    ``idf`` is its weight, largest for a term that no passage holds; ``is_name`` says that it
    stands for an exact name.
    """

    term: str
    passages: int
    idf: float
    is_name: bool
    held_by: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How likely it is that the passages found can answer a question.

    ``top_cosine`` is the largest raw cosine among them, ``None`` where the question was not
    embedded; ``idf_share`` the share of the question's idf that they hold, 0 to 1; ``best_match``
    the largest product of cosine and share that one of them has. ``probability`` is ``None`` where
    nothing was calibrated for the embedding model of the index; then ``verdict`` is empty.
    ``rare_name`` is the rarest name of the question that stands in the site, where it stands in few
    passages: the verdict is never ``not covered`` then; ``named_in`` is the number of the first
    passage found that holds it, 0 for none.
    """

    top_cosine: float | None
    idf_share: float
    best_match: float
    probability: float | None = None
    verdict: EvidenceVerdict = ""
    rare_name: str = ""
    named_in: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How evidence becomes a probability for one embedding model: a logistic regression.

    The log odds are ``bias + cosine * top_cosine + match * best_match`` with the features of
    :class:`Evidence`. Below ``not_covered`` the passages are said not to
    cover a question, below ``weak`` to be weak evidence. ``questions`` is how many it was fitted
    on.
    """

    embedding_model: str
    bias: float
    cosine: float
    match: float
    not_covered: float = 0.45
    weak: float = 0.65
    questions: int = 0
