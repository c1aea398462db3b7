"""How the settings have a question answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl.pipeline.answer import AnswerOptions
from ragctl.wiring.search import calibration_of
from ragctl.wiring.stages import link_style, make_template, prompt_budget

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.settings import Settings


def answer_options(
    settings: Settings,
    database: Database | None = None,
    *,
    embedding_model: str = "",
    tracks: tuple[str, ...] = (),
    pages: tuple[str, ...] = (),
) -> AnswerOptions:
    """Return how the settings have a question answered.

    Evidence is weighed by the calibration for the embedding model, the database's own before the
    one that ships, and prompts are counted as its servers counted before. The share of the best
    score below which passages are not sent was measured with calibrated models: for others it
    holds only where it was set.
    """
    token_ratio = database.traces.token_ratio() if database else 1.0
    calibration = calibration_of(database, embedding_model)
    is_known = calibration is not None or settings.origin("retrieval.least_share") != "default"
    return AnswerOptions(
        tracks=tracks,
        pages=pages,
        mode=settings.retrieval.mode,
        words_will_do=settings.retrieval.mode == "hybrid",
        k=settings.retrieval.k,
        template=make_template(settings),
        budget_tokens=prompt_budget(settings, token_ratio=token_ratio),
        least_share=settings.retrieval.least_share if is_known else 0.0,
        calibration=calibration,
        links=link_style(settings),
        allowed_hosts=settings.checks.allowed_hosts,
        block=settings.checks.block,
    )
