"""From what was measured to the row that is stored of it, and what a stored run changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ragctl.evaluate.retrieval import Scored, figures, shares
from ragctl.records.evaluations import Evaluation, PastEvaluation

if TYPE_CHECKING:
    from ragctl.evaluate.questions import QuestionFile
    from ragctl.records.vectors import IndexIdentity

TOKENS = "prompt_tokens_median"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBase:
    """What all runs of one call are measured over; ``passages`` is how many the index holds."""

    at: datetime
    file: QuestionFile
    identity: IndexIdentity
    passages: int
    k: int
    program_version: str

    def evaluation(
        self,
        run_id: str,
        *,
        kind: str,
        label: str,
        questions: int,
        figures: Mapping[str, float | None],
    ) -> Evaluation:
        """Return the row of one run, with its own figures."""
        return Evaluation(
            id=run_id,
            at=self.at,
            kind=kind,
            file=self.file.path.name,
            file_sha256=self.file.sha256,
            label=label,
            k=self.k,
            embedding_model=self.identity.embedding.label,
            chunker=self.identity.chunker,
            chunker_parameters=dict(self.identity.chunker_parameters),
            passages=self.passages,
            program_version=self.program_version,
            questions=questions,
            figures=dict(figures),
        )


def retrieval_run(scored: Sequence[Scored], base: RunBase, *, run_id: str, mode: str) -> Evaluation:
    """Return the run of one mode of searching."""
    overall = figures(scored)[-1]
    return base.evaluation(
        run_id,
        kind="retrieval",
        label=mode,
        questions=overall.questions,
        figures={**shares(scored), TOKENS: overall.prompt_tokens_median},
    )


def outcomes(scored: Sequence[Scored]) -> list[dict[str, str | int | float | bool | None]]:
    """Return what is kept of each question: its id, the two ranks, how many facts are missing."""
    return [
        {
            "id": each.question.id,
            "page_rank": each.page_rank,
            "section_rank": each.section_rank,
            "missing": None if each.missing is None else len(each.missing),
        }
        for each in scored
    ]


def changes(past: PastEvaluation) -> dict[str, float | None]:
    """Return by how much each figure rose since the run before; ``None`` where that is unknown."""
    before = past.before.figures if past.before else {}
    return {
        name: None if value is None or (was := before.get(name)) is None else value - was
        for name, value in past.run.figures.items()
    }


def what_differs(past: PastEvaluation) -> tuple[str, ...]:
    """Return what else changed since the run before: model, chunker, passages, program.

    The first three are the index; the number of passages stands for the content of the site.
    """
    run, before = past.run, past.before
    if before is None:
        return ()
    pairs = {
        "model": (before.embedding_model, run.embedding_model),
        "chunker": (
            (before.chunker, dict(before.chunker_parameters)),
            (run.chunker, dict(run.chunker_parameters)),
        ),
        "passages": (before.passages, run.passages),
        "program": (before.program_version, run.program_version),
    }
    return tuple(name for name, (was, now) in pairs.items() if was != now)
