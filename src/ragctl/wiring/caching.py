"""What of a question is looked up before it is asked, and kept afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, cast

import ragctl
from ragctl.cache.answers import CachedAnswers, CachePolicy
from ragctl.cache.embedder import QuestionMemory
from ragctl.cache.keys import scope_of
from ragctl.db.answer_cache import CacheBounds, StoredAnswers
from ragctl.records.answers import Answer

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.db.question_embeddings import QuestionEmbeddings
    from ragctl.errors import DatabaseError
    from ragctl.pipeline.answer import AnswerOptions
    from ragctl.records.cached import KeptAnswer
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

CacheUse = Literal["on", "off", "refresh"]

_WITHOUT_EFFECT = frozenset(
    {"site", "database", "embedding", "gateway", "chunking", "cache", "traces", "origins"}
)
"""What of the settings says nothing on an answer that is not in the options or the index too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """The answers that are kept, and the vectors of questions."""

    answers: CachedAnswers
    memory: QuestionMemory


def make_caching(
    settings: Settings,
    database: Database,
    *,
    recorded: IndexIdentity,
    options: AnswerOptions,
    about_site: str,
    use: CacheUse,
    on_hint: Callable[[KeptAnswer], None],
    on_lost: Callable[[DatabaseError], None],
) -> Caching:
    """Return the caches of one question.

    ``about_site`` is what the prompt tells of the site. With ``off`` nothing is read or kept, with
    ``refresh`` nothing is read. Answers hold texts, so
    none is kept where traces keep none. ``on_lost`` is told once that a cache cannot be used.
    """
    from ragctl.stages.same_question import differences

    once = _Once(on_lost)
    keeps_answers = settings.cache.answers == "on" and settings.traces.record == "on"
    keeps_vectors = settings.cache.embeddings == "on"
    answers = CachedAnswers(
        stored_answers(settings, database) if keeps_answers and use != "off" else None,
        scope=answer_scope(settings, options=options, recorded=recorded, about_site=about_site),
        policy=CachePolicy(
            reads=use == "on",
            semantic=cast("Any", settings.cache.semantic),
            threshold=settings.cache.threshold,
        ),
        read=_read_answer,
        differs=differences,
        on_hint=on_hint,
        on_lost=once,
        clock=time.perf_counter,
    )
    vectors = stored_vectors(settings, database, recorded=recorded)
    memory = QuestionMemory(
        vectors if keeps_vectors and use != "off" else None, reads=use == "on", on_lost=once
    )
    return Caching(answers=answers, memory=memory)


def stored_answers(settings: Settings, database: Database) -> StoredAnswers:
    """Return the answers of a database, within the bounds of the settings."""
    cache = settings.cache
    return database.answer_cache(
        bounds=CacheBounds(days=cache.answer_days, at_most=cache.most_answers)
    )


def stored_vectors(
    settings: Settings, database: Database, *, recorded: IndexIdentity
) -> QuestionEmbeddings:
    """Return the vectors of questions of a database, within the bounds of the settings."""
    cache = settings.cache
    return database.question_embeddings(
        recorded.embedding,
        bounds=CacheBounds(days=cache.embedding_days, at_most=cache.most_embeddings),
    )


def answer_scope(
    settings: Settings, *, options: AnswerOptions, recorded: IndexIdentity, about_site: str
) -> str:
    """Return what stands for all but the question that decides on an answer.

    The prompt but for question and passages is in it word for word; so is the version of the
    program, whose search and checks may differ, and every section of the settings that is not known
    to be without effect: a new one cannot be forgotten.
    """
    from ragctl.stages.render import render

    empty = render(
        "",
        (),
        template=options.template,
        budget_tokens=options.budget_tokens,
        about_site=about_site,
    )
    sections = (field.name for field in fields(settings))
    return scope_of(
        {
            "program": ragctl.__version__,
            "prompt": (empty.template, empty.text),
            "options": options,
            "index": recorded,
            **{name: getattr(settings, name) for name in sections if name not in _WITHOUT_EFFECT},
        }
    )


def _read_answer(values: Mapping[str, Any]) -> Answer:
    from ragctl.artifacts.storage import record_of

    return record_of(Answer, values, "answer_cache")


class _Once:
    """Tells of the first error alone."""

    def __init__(self, tell: Callable[[DatabaseError], None]) -> None:
        self._tell = tell
        self._has_told = False

    def __call__(self, error: DatabaseError) -> None:
        if not self._has_told:
            self._has_told = True
            self._tell(error)
