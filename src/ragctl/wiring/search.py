"""What finds passages, by the mode of the settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ragctl.cache.embedder import QuestionMemory, RememberingEmbedder
from ragctl.errors import ModelMissing, ModelUnreachable
from ragctl.wiring.models import make_embedder, require_same_name

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.db.search import Rankings, TermShares
    from ragctl.protocols import Coverage, Embedder, Retriever
    from ragctl.records.evidence import Calibration
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings
    from ragctl.stages.catalogue import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What embeds a question and what finds passages for it.

    ``embedder`` is ``None`` where words are to do: in the mode ``keyword``, and in ``hybrid``
    where the model of the index is out of reach; ``unreached`` then tells why.
    """

    embedder: Embedder | None
    retriever: Retriever
    unreached: str = ""


def make_search(
    settings: Settings,
    database: Database,
    *,
    recorded: IndexIdentity,
    memory: QuestionMemory | None = None,
    question: str = "",
) -> Search:
    """Return what finds passages in the mode of the settings.

    With a memory no model is asked for what it knows, nor looked for where that is ``question``.

    Raises what :func:`~ragctl.wiring.models.make_embedder` raises where vectors are asked for by
    name, and :class:`~ragctl.errors.IndexMismatch` in every mode that uses them.
    """
    from ragctl.index_match import require_same_model

    retriever = make_retriever(settings, database)
    if settings.retrieval.mode == "keyword":
        return Search(embedder=None, retriever=retriever)
    if memory is not None and memory.known(question) is not None:
        require_same_name(settings, recorded)
        known = RememberingEmbedder(
            recorded.embedding, lambda: make_embedder(settings, recorded=recorded).part, memory
        )
        return Search(embedder=known, retriever=retriever)
    try:
        embedder = make_embedder(settings, recorded=recorded).part
        require_same_model(recorded, embedder.identity)
    except (ModelMissing, ModelUnreachable) as error:
        if settings.retrieval.mode != "hybrid":
            raise
        return Search(embedder=None, retriever=retriever, unreached=error.message)
    if memory is not None:
        embedder = RememberingEmbedder(embedder.identity, partial(_itself, embedder), memory)
    return Search(embedder=embedder, retriever=retriever)


def _itself(embedder: Embedder) -> Embedder:
    return embedder


def make_retriever(settings: Settings, database: Database) -> Retriever:
    """Return what finds passages in the mode of the settings."""
    from ragctl.stages.names import names_asked

    return database.retriever(settings.retrieval.mode, names_asked=names_asked)


def make_coverage(database: Database) -> Coverage:
    """Return what tells which terms of a question some passages hold."""
    from ragctl.stages.names import names_asked

    return database.coverage(names_asked=names_asked)


def make_catalogue(database: Database, *, tracks: tuple[str, ...] = ()) -> Catalogue:
    """Return the pages of some tracks or all, and what reads their headings when it is needed."""
    from ragctl.stages.catalogue import Catalogue, headings_of

    return Catalogue.of(
        database.pages.all(),
        headings=lambda: headings_of(database.pages.links(), database.pages.texts()),
        tracks=tracks,
    )


def calibration_of(database: Database | None, embedding_model: str) -> Calibration | None:
    """Return how evidence becomes a probability for an embedding model, ``None`` if unknown.

    What was stored for the site goes before what ships; without a database only that is known.
    """
    from ragctl.stages.evidence import BUILT_IN

    stored = database.calibrations.of(embedding_model) if database else None
    return stored or BUILT_IN.get(embedding_model)


def make_rankings(database: Database) -> Rankings:
    """Return what ranks passages among all."""
    from ragctl.stages.names import names_asked

    return database.rankings(names_asked=names_asked)


def make_term_shares(database: Database) -> TermShares:
    """Return what takes the keyword scores of passages apart."""
    from ragctl.stages.names import names_asked

    return database.term_shares(names_asked=names_asked)
