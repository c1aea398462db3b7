"""The pipeline: ``ingest`` is stages 1 to 4, ``answer`` stages 5 to 8. Read this file first.

Both take their parts as arguments and know none of them by name; ``wiring`` chooses. No
transaction is open while a model works, and every page is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from ragctl.db.database import Database
from ragctl.indexing import (
    IngestOptions,
    agreed_identity,
    changed_files,
    cut_pages,
    readable_files,
    rebuild,
    record_identity,
    remove_gone,
    require_same_chunker,
    require_same_root,
    store_page,
    with_vectors,
)
from ragctl.ledger import Ledger
from ragctl.protocols import Chunker, Embedder, Generator, Parser, Retriever
from ragctl.records import (
    Answer,
    Attempt,
    Draft,
    Hit,
    IngestProgress,
    IngestSummary,
    LeftOut,
    LinkStyle,
    Prompt,
    Query,
    SourceFile,
    Timings,
)
from ragctl.stages.check import cite, find_problems, is_refusal
from ragctl.stages.render import render

Clock = Callable[[], float]
"""Seconds from any fixed point, as ``time.perf_counter`` gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """How to answer: what to search, which prompt, how long it may be, where links point.

    ``budget_tokens`` bounds the prompt: the model's window less the room for the answer.
    """

    tracks: tuple[str, ...] = ()
    k: int = 5
    template: str = "balanced"
    budget_tokens: int = 3584
    links: LinkStyle = field(default_factory=LinkStyle)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedPage:
    """A page as counted by :func:`survey`."""

    track: str
    is_landing: bool
    passages: int


def ingest(
    sources: Sequence[SourceFile],
    left_out: Sequence[LeftOut],
    *,
    options: IngestOptions,
    database: Database,
    chunker: Chunker,
    embedder: Embedder,
    report: Callable[[IngestProgress], None],
    clock: Clock,
) -> IngestSummary:
    """Bring the database to what the files say, and return what was done.

    Unchanged pages are left alone, changed ones replaced each in one transaction, pages whose
    file is gone removed. Raises :class:`~ragctl.errors.ContentRootMismatch` and
    :class:`~ragctl.errors.IndexMismatch` before anything is embedded.
    """
    require_same_root(database, options.root, moved=options.moved)
    recorded = database.identity.load()
    if not options.rebuild:
        require_same_chunker(recorded, chunker)
    ledger = Ledger(sources, left_out, clock=clock, report=report)
    run = database.runs.start()
    try:
        stored = {page.url: page for page in database.pages.all()}
        changed = changed_files(sources, stored, database, options, ledger)
        pages = cut_pages(changed, options.parser, chunker, drafts=options.drafts, ledger=ledger)
        first = next(pages, None)
        if first is not None:
            recorded = agreed_identity(recorded, chunker, embedder, rebuilds=options.rebuild)
            pages = chain((first,), pages)
            if options.rebuild:
                rebuild(sources, pages, recorded, database, chunker, embedder, options, ledger)
            else:
                record_identity(database, options.root, recorded)
                for page in with_vectors(pages, database, embedder, options, ledger):
                    store_page(page, database, options.parser, ledger)
        remove_gone(stored, database, options, ledger)
        held = [page for page in database.pages.all() if options.covers(page)]
        summary = ledger.summary(root=options.root, index=recorded, pages=held)
    except BaseException:
        with suppress(Exception):  # the connection may be what broke
            database.runs.finish(run, outcome="stopped", counts=ledger.counts())
        raise
    outcome = "findings" if summary.has_findings else "done"
    database.runs.finish(run, outcome=outcome, counts=ledger.counts())
    return summary


def survey(
    sources: Sequence[SourceFile],
    left_out: Sequence[LeftOut],
    *,
    root: str,
    parser: Parser,
    chunker: Chunker,
    drafts: bool,
    clock: Clock,
) -> IngestSummary:
    """Return what an ingest would find: pages read and cut, nothing embedded or stored."""
    ledger = Ledger(sources, left_out, clock=clock, report=lambda _progress: None)
    files = readable_files(sources, ledger)
    pages = [
        SurveyedPage(track=page.track, is_landing=page.is_landing, passages=len(passages))
        for page, passages in cut_pages(files, parser, chunker, drafts=drafts, ledger=ledger)
    ]
    return ledger.summary(root=root, index=None, pages=pages)


def answer(
    question: str,
    *,
    options: AnswerOptions,
    embedder: Embedder,
    retriever: Retriever,
    generator: Generator,
    on_prompt: Callable[[Prompt], None],
    on_text: Callable[[str], None],
    clock: Clock,
) -> Answer:
    """Answer a question from the passages nearest to it.

    The prompt goes to ``on_prompt`` before it is sent, the answer's text to ``on_text`` piece by
    piece as it is written. Raises
    :class:`~ragctl.errors.ModelError` where a model cannot be used; an answer that broke off is
    returned, marked ``torn``.
    """
    began = clock()
    vector = embedder.embed([question], purpose="query")[0]
    embedded = clock()
    query = Query(text=question, vector=vector, tracks=options.tracks, k=options.k)
    passages = retriever.retrieve(query)
    searched = clock()
    prompt = render(
        question, passages, template=options.template, budget_tokens=options.budget_tokens
    )
    on_prompt(prompt)
    asked = clock()
    draft = generator.generate(prompt, on_text=on_text)
    ended = clock()
    timings = Timings(
        embed=(embedded - began) * 1000,
        search=(searched - embedded) * 1000,
        prefill=draft.prefill_ms,
        decode=draft.decode_ms,
        total=(ended - began) * 1000,
    )
    attempt = Attempt(route=draft.route, outcome=draft.finish, ms=(ended - asked) * 1000)
    return checked(question, draft, prompt, passages, options, timings, attempt)


def checked(
    question: str,
    draft: Draft,
    prompt: Prompt,
    passages: Sequence[Hit],
    options: AnswerOptions,
    timings: Timings,
    attempt: Attempt,
) -> Answer:
    """Return what was written with its citations and problems: stage 8."""
    refused = is_refusal(draft.text)
    return Answer(
        question=question,
        text=draft.text,
        refused=refused,
        degraded=not draft.written_by_model,
        finish=draft.finish,
        citations=cite(draft.text, prompt.passages, links=options.links),
        passages=tuple(passages),
        problems=find_problems(draft, prompt, retrieved=len(passages), refused=refused),
        route=draft.route,
        attempts=(attempt,),
        prompt=prompt,
        prompt_tokens=draft.prompt_tokens,
        output_tokens=draft.output_tokens,
        timings=timings,
    )
