"""One question from the command line to its answer, its trace and its exit code."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl import wiring
from ragctl.cli.answer_shown import show_answer, show_listed
from ragctl.cli.answering import Answering
from ragctl.cli.artifacts import beside, whole_answer_document
from ragctl.cli.caching import say_close, say_kept, say_uncached, vector_of
from ragctl.cli.sources import known_pages, require_known_tracks
from ragctl.errors import (
    EXIT_DONE,
    EXIT_INCOMPLETE,
    ContentError,
    DatabaseError,
    DatabaseReadOnly,
    DatabaseUnsuitable,
    RagctlError,
)
from ragctl.freshness import changes_since
from ragctl.gateway.generator import NO_ROUTE
from ragctl.gateway.slots import NO_SLOT
from ragctl.observe.recorder import Recorder
from ragctl.pipeline.answer import answer, keyword_only, look_up
from ragctl.records.traces import Asked
from ragctl.stages.catalogue import catalogue_passage
from ragctl.stages.strict import strictly
from ragctl.wiring.answers import answer_options
from ragctl.wiring.caching import CacheUse, Caching, make_caching

if TYPE_CHECKING:
    from ragctl.cli.output import Output
    from ragctl.db.database import Database
    from ragctl.protocols import Generator
    from ragctl.records.answers import Answer
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

_FAILED = (NO_ROUTE, NO_SLOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked, and what is to be shown of the answer.

    With ``from_passages`` the list of pages is left aside, also where it has the answer.
    """

    question: str
    tracks: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    as_json: bool = False
    with_prompt: bool = False
    with_passages: bool = False
    verbose: bool = False
    artifacts: Path | None = None
    from_passages: bool = False
    caches: CacheUse = "on"

    @property
    def is_of_passages(self) -> bool:
        """Whether only an answer from passages will do."""
        asked_for = self.pages or self.with_prompt or self.with_passages or self.artifacts
        return self.from_passages or bool(asked_for)


def ask_and_show(request: Request, settings: Settings, output: Output) -> int:
    """Answer a question, print it, and return the exit code.

    A question about the site itself is answered from the list of pages, another one from the cache
    where it was answered before, else from passages.
    """
    wiring.make_template(settings)  # refused before a server is started
    with wiring.open_database(settings) as database:
        identity = database.identity.load()
        if identity is None or database.chunks.count() == 0:
            raise ContentError(
                "nothing has been ingested yet",
                hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
            )
        require_known_tracks(database.pages.tracks(), request.tracks)
        request = _with_known_pages(request, database, settings)
        asking = _Asking(request, settings, output, database, identity)
        with asking.recorder:
            found = asking.listed() or asking.kept() or asking.answered()
            sys.stdout.flush()
            asking.recorder.tidy()  # old traces go, now that the answer is out
    failed = any(problem.code in _FAILED for problem in found.problems)
    return EXIT_INCOMPLETE if failed or found.finish in ("torn", "repetition") else EXIT_DONE


def _with_known_pages(request: Request, database: Database, settings: Settings) -> Request:
    if not request.pages:
        return request
    pages = known_pages(
        database.pages.all(),
        request.pages,
        tracks=request.tracks,
        base_url=settings.site.base_url,
    )
    return replace(request, pages=pages)


class _Asking:
    """One question on its way; what the ways to an answer have in common is made once."""

    def __init__(
        self,
        request: Request,
        settings: Settings,
        output: Output,
        database: Database,
        identity: IndexIdentity,
    ) -> None:
        self._request = request
        self._settings = settings
        self._output = output
        self._database = database
        self._identity = identity
        self._root = database.site.content_root()
        self._about_site = ""
        self._options = answer_options(
            settings,
            database,
            embedding_model=identity.embedding.label,
            tracks=request.tracks,
            pages=request.pages,
        )
        self.recorder = self._make_recorder()
        self._answering = Answering(
            output,
            as_json=request.as_json,
            with_prompt=request.with_prompt,
            checks_first=settings.checks.strict_citations,
            clock=time.perf_counter,
        )

    def listed(self) -> Answer | None:
        """Answer from the list of pages, where the question is about the site itself."""
        request = self._request
        if request.is_of_passages:
            return None
        catalogue = wiring.make_catalogue(self._database, tracks=request.tracks)
        found = look_up(
            request.question,
            catalogue,
            options=self._options,
            on_text=self.recorder.texts(_ignored),
            tracing=self.recorder.tracing,
        )
        if found is None:
            self._about_site = catalogue_passage(request.question, catalogue) or ""
            return None
        found = self.recorder.keep(found)
        self._remark_changes()
        show_listed(
            found,
            self._output,
            root=self._root,
            as_json=request.as_json,
            verbose=request.verbose,
        )
        return found

    def kept(self) -> Answer | None:
        """Give the answer that was kept, where the question was answered before."""
        question, tracing = self._request.question, self.recorder.tracing
        with tracing.span("ask"), tracing.span("cache"):
            kept = self._caching.answers.known(
                question, vector=lambda: vector_of(question, self._search)
            )
        if kept is None:
            return None
        self._remark_changes()
        say_kept(self._output, kept, self._answering)
        kept = self.recorder.keep(kept)
        self._show(kept)
        return kept

    def answered(self) -> Answer:
        """Answer from passages, and keep the answer."""
        request, settings, output = self._request, self._settings, self._output
        wiring.admit_question(settings, self._database)
        search, generator = self._search, self._make_generator()
        written = request.artifacts and beside(
            request.artifacts,
            search.retriever,
            generator.part,
            options=self._options,
            embedding=self._identity.embedding,
            settings=settings,
            root=self._root,
        )
        self._remark_changes()
        if generator.remark and not request.as_json:
            output.remark(generator.remark, style="yellow")
        with self._answering:
            found = answer(
                request.question,
                options=self._options,
                embedder=search.embedder,
                retriever=written or search.retriever,
                coverage=wiring.make_coverage(self._database),
                on_evidence=self._answering.evidence,
                generator=written or generator.part,
                on_prompt=self.recorder.prompts(self._answering.prompt),
                on_text=self.recorder.texts(self._answering.text),
                tracing=self.recorder.tracing,
                about_site=self._about_site,
            )
        found = self._recorded(found)
        if written:
            written.finish(found, whole_answer_document(found))
        self._show(found)
        return found

    def _make_generator(self) -> wiring.Chosen[Generator]:
        generator = wiring.make_generator(
            self._settings,
            database=self._database,
            quotes_instead=True,
            on_restart=self._answering.restart,
            on_lost=partial(_say_alone, self._output),
        )
        return wiring.with_slots(
            generator,
            self._settings,
            self._database,
            on_wait=self._output.waiting,
            quotes_instead=True,
        )

    def _recorded(self, found: Answer) -> Answer:
        """Return an answer as it is kept in traces and cache."""
        if self._search.unreached:
            told = keyword_only(self._search.unreached)
            found = replace(found, problems=(told, *found.problems))
        if self._settings.checks.strict_citations:
            found = strictly(found, links=self._options.links)
        found = self.recorder.keep(found)
        vector = self._caching.memory.known(self._request.question)
        self._caching.answers.keep(found, vector=vector)
        return found

    @cached_property
    def _caching(self) -> Caching:
        return make_caching(
            self._settings,
            self._database,
            recorded=self._identity,
            options=self._options,
            about_site=self._about_site,
            use=self._request.caches,
            on_hint=partial(say_close, self._output),
            on_lost=partial(say_uncached, self._output),
        )

    @cached_property
    def _search(self) -> wiring.Search:
        return wiring.make_search(
            self._settings,
            self._database,
            recorded=self._identity,
            memory=self._caching.memory,
            question=self._request.question,
        )

    def _show(self, found: Answer) -> None:
        show_answer(
            found,
            self._answering,
            self._output,
            links=self._options.links,
            root=self._root,
            as_json=self._request.as_json,
            with_prompt=self._request.with_prompt,
            with_passages=self._request.with_passages,
            verbose=self._request.verbose,
        )

    def _make_recorder(self) -> Recorder:
        request, settings = self._request, self._settings
        asked = Asked(
            question=request.question,
            at=datetime.now(UTC),
            tracks=request.tracks,
            pages=request.pages,
            k=settings.retrieval.k,
            mode=settings.retrieval.mode,
            embedding_model=self._identity.embedding.label,
            template=self._options.template.name,
        )
        return Recorder(
            asked,
            tracer=None if settings.traces.record == "off" else self._database.traces,
            retention=wiring.retention(settings),
            on_lost=partial(_say_unrecorded, self._output),
            random=os.urandom,
            clock=time.perf_counter,
        )

    def _remark_changes(self) -> None:
        """Say that the last ingest stopped half way, and how many files changed since."""
        run = self._database.runs.last()
        if self._root is None or run is None:
            return
        if run.outcome in ("running", "stopped"):
            self._output.remark(
                "The last ingest did not finish: some pages may be missing. `ragctl ingest` goes "
                "on.",
                style="yellow",
            )
        changes = changes_since(
            Path(self._root),
            self._database.pages.all(),
            ingested_at=run.started_at,
            exclude=self._settings.site.exclude,
        )
        if changes.count:
            files = "1 file" if changes.count == 1 else f"{changes.count} files"
            self._output.remark(
                f"{files} changed since the last ingest; `ragctl ingest` brings them in.",
                style="yellow",
            )


def _ignored(_piece: object) -> None:
    """Take a piece of an answer that is printed later."""


def _say_unrecorded(output: Output, error: Exception) -> None:
    reason = error.message if isinstance(error, RagctlError) else type(error).__name__
    if isinstance(error, DatabaseReadOnly):
        reason = "the database is read-only"
    elif isinstance(error, DatabaseUnsuitable):
        reason = "traces cannot be written with these rights"
    output.remark(f"Not recorded: {reason.rstrip('.')}.", style="yellow")


def _say_alone(output: Output, error: DatabaseError) -> None:
    reason = error.message
    if isinstance(error, DatabaseReadOnly):
        reason = "the database is read-only"
    elif isinstance(error, DatabaseUnsuitable):
        reason = "breakers cannot be written with these rights"
    output.remark(f"How the routes fare is not shared with other processes: {reason}.")
