"""How well evidence tells questions that a site answers from those that it does not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ragctl.records.search import Query
from ragctl.stages.evidence import calibrate, evidence_of, judged
from ragctl.stages.names import name_keys

if TYPE_CHECKING:
    from ragctl.evaluate.questions import KnownQuestion
    from ragctl.protocols import Coverage, Embedder, Retriever
    from ragctl.records.evidence import Calibration, Evidence

FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How often ``not covered`` is said, and how often rightly.

    ``recall`` is the share of unanswerable questions of which it is said, ``precision`` the share
    of those of which it is said that are unanswerable, ``None`` where it is said of none.
    ``balanced_precision`` is what it would be with as many answerable as unanswerable questions;
    ``lifted`` counts unanswerable ones of which it is not said for a rare name that they hold.
    """

    answerable: int
    unanswerable: int
    rightly: int
    wrongly: int
    lifted: int

    @property
    def recall(self) -> float:
        """Share of the unanswerable."""
        return self.rightly / self.unanswerable

    @property
    def precision(self) -> float | None:
        """Share of what was told."""
        told = self.rightly + self.wrongly
        return self.rightly / told if told else None

    @property
    def balanced_precision(self) -> float | None:
        """Precision at even odds."""
        wrong = self.wrongly / self.answerable
        return self.recall / (self.recall + wrong) if self.recall + wrong else None


def weigh_questions(
    questions: Sequence[KnownQuestion],
    *,
    embedder: Embedder,
    retriever: Retriever,
    coverage: Coverage,
    k: int,
    batch_size: int,
    report: Callable[[int], None],
) -> Iterator[tuple[KnownQuestion, Evidence]]:
    """Yield each question with the evidence found for it; ``report`` hears how many are done."""
    for start in range(0, len(questions), batch_size):
        batch = questions[start : start + batch_size]
        vectors = embedder.embed([known.question for known in batch], purpose="query")
        for known, vector in zip(batch, vectors, strict=True):
            hits = retriever.retrieve(Query(text=known.question, vector=vector, k=k))
            terms = coverage.of(known.question, hits)
            yield known, evidence_of(hits, terms, names=name_keys(known.question))
        report(start + len(batch))


def told(
    calibration: Calibration, answerable: Sequence[Evidence], unanswerable: Sequence[Evidence]
) -> Told:
    """Return how a calibration does on questions that it was not fitted to."""
    return _told(
        [judged(evidence, calibration) for evidence in answerable],
        [judged(evidence, calibration) for evidence in unanswerable],
        calibration,
    )


def told_across(
    answerable: Sequence[Evidence],
    unanswerable: Sequence[Evidence],
    *,
    embedding_model: str,
    seed: int,
) -> Told:
    """Return how fitting does on questions left out of it, in five folds of at least two a kind."""
    shuffled = random.Random(seed)
    judged_kinds: tuple[list[Evidence], list[Evidence]] = ([], [])
    kinds = [shuffled.sample(kind, len(kind)) for kind in (answerable, unanswerable)]
    for fold in range(FOLDS):
        inside = [[one for i, one in enumerate(kind) if i % FOLDS != fold] for kind in kinds]
        fitted = calibrate(inside[0], inside[1], embedding_model=embedding_model, least=1)
        for kind, done in zip(kinds, judged_kinds, strict=True):
            done += [judged(one, fitted) for i, one in enumerate(kind) if i % FOLDS == fold]
    return _told(*judged_kinds, fitted)


def _told(
    answerable: Sequence[Evidence], unanswerable: Sequence[Evidence], calibration: Calibration
) -> Told:
    bare = [judged(replace(one, rare_name=""), calibration) for one in unanswerable]
    rightly = sum(one.verdict == "not covered" for one in unanswerable)
    return Told(
        answerable=len(answerable),
        unanswerable=len(unanswerable),
        rightly=rightly,
        wrongly=sum(one.verdict == "not covered" for one in answerable),
        lifted=sum(one.verdict == "not covered" for one in bare) - rightly,
    )
