"""Measured runs over labelled questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One run over a file of questions, as it is stored.

    ``kind`` is what was measured, ``retrieval`` or ``answers``; ``label`` what was tried: the mode
    of the search, the route that wrote. ``figures`` are those of all questions by name, ``None``
    where no question counts.
    """

    id: str
    at: datetime
    kind: str
    file: str
    file_sha256: str
    label: str
    k: int
    embedding_model: str
    chunker: str
    chunker_parameters: Mapping[str, int | str]
    passages: int
    program_version: str
    questions: int
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastEvaluation:
    """A stored run, and the one before it of the same questions, kind, label and k, if any."""

    run: Evaluation
    before: Evaluation | None
