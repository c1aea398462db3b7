"""How the settings have a question answered."""

from __future__ import annotations

from ragctl.db.database import Database
from ragctl.pipeline import AnswerOptions
from ragctl.settings import Settings
from ragctl.wiring.search import calibration_of
from ragctl.wiring.stages import link_style, make_template, prompt_budget


def answer_options(
    settings: Settings,
    database: Database | None = None,
    *,
    embedding_model: str = "",
    tracks: tuple[str, ...] = (),
    pages: tuple[str, ...] = (),
) -> AnswerOptions:
    """Return how the settings have a question answered.

    With a database, evidence is weighed by its calibration for the embedding model, and prompts
    are counted as its servers counted before.
    """
    token_ratio = database.traces.token_ratio() if database else 1.0
    return AnswerOptions(
        tracks=tracks,
        pages=pages,
        mode=settings.retrieval.mode,
        words_will_do=settings.retrieval.mode == "hybrid",
        k=settings.retrieval.k,
        template=make_template(settings),
        budget_tokens=prompt_budget(settings, token_ratio=token_ratio),
        least_share=settings.retrieval.least_share,
        calibration=calibration_of(database, embedding_model) if database else None,
        links=link_style(settings),
        allowed_hosts=settings.checks.allowed_hosts,
        block=settings.checks.block,
    )
