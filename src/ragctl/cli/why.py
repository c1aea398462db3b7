"""``ragctl why``: the way of a page to an answer, factor by factor."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.output import Output, harmless
from ragctl.cli.question import usable_question
from ragctl.cli.sources import require_known_tracks
from ragctl.errors import EXIT_DONE, EXIT_FINDINGS, ModelError, UsageError
from ragctl.observe.stopwatch import Stopwatch
from ragctl.pipeline.answer import answer
from ragctl.records.answers import Draft, Prompt
from ragctl.why.evidence import (
    Asking,
    Evidence,
    InDatabase,
    OnDisk,
    Subject,
    look_on_disk,
    subject_of,
    targets_of,
)
from ragctl.why.factors import Factor, factors, first_zero
from ragctl.wiring.answers import answer_options

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.protocols import Generator, Retriever
    from ragctl.records.search import Hit, PassageRank, Query
    from ragctl.records.stored import StoredChunk, StoredPage
    from ragctl.records.vectors import IndexIdentity
    from ragctl.settings import Settings

app = options.command_app("Say why a page is in the answer to a question, or why not.")


@app.command(
    epilog='Example: ragctl why "How do buckets refill?" --page /design/22-rate-limiter '
    '--section "The token bucket"',
)
def why(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question.")],
    page: Annotated[
        str, typer.Option("--page", metavar="ADDRESS", help="The page: address, link or path.")
    ],
    section: Annotated[
        str, typer.Option("--section", metavar="LABEL", help="A section of it: label or anchor.")
    ] = "",
    text: Annotated[
        str, typer.Option("--text", metavar="WORDS", help="Words of it that should be found.")
    ] = "",
    no_answer: Annotated[
        bool, typer.Option("--no-answer", help="Stop at the prompt: ask no model to write.")
    ] = False,
    track: options.Tracks = None,
    mode: options.Mode = None,
    k: options.PassagesWanted = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="The Ollama model that writes the answer."),
    ] = None,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Follow a page through every step from its file to a citation, and name the first zero."""
    settings = wiring.load_settings(
        {
            "site.name": site,
            "database.url": database_url,
            "retrieval.k": k,
            "retrieval.mode": mode,
            "generation.model": model,
            "generation.provider": "ollama" if model else None,
        }
    )
    asked = usable_question(
        question, example='ragctl why "How does the bucket refill?" --page /design/22-rate-limiter'
    )
    if not page.strip("/ "):
        raise UsageError("no page is given", hint="--page /design/22-rate-limiter")
    subject = subject_of(page, section=section, words=text, base_url=settings.site.base_url)
    evidence = _gather(asked, subject, settings, tracks=tuple(track or ()), writes=not no_answer)
    product = factors(evidence)
    output = Output(environ=os.environ)
    if json:
        output.json(_document(asked, evidence, product))
    else:
        _show(asked, subject, product, output)
    raise typer.Exit(EXIT_DONE if first_zero(product) is None else EXIT_FINDINGS)


def _gather(
    question: str, subject: Subject, settings: Settings, *, tracks: tuple[str, ...], writes: bool
) -> Evidence:
    with wiring.open_database(settings) as database:
        require_known_tracks(database.pages.tracks(), tracks)
        root = database.site.content_root()
        parser = wiring.make_parser(settings)
        disk = look_on_disk(
            subject.url, Path(root) if root else None, exclude=settings.site.exclude, parser=parser
        )
        pages = {page.url: page for page in database.pages.all()}
        stored = _in_database(pages.get(subject.url), database)
        targets = targets_of(subject, disk, stored) if stored else ()
        asking = None
        identity = database.identity.load()
        if targets and identity is not None:
            asking = _ask(question, settings, database, identity, targets, tracks, writes=writes)
    return Evidence(
        subject=subject,
        disk=disk,
        stored=stored,
        stored_urls=tuple(pages),
        would_make=_would_make(disk, settings) if stored is None else 0,
        site_tracks=settings.site.tracks,
        asking=asking,
        targets=targets,
    )


def _in_database(page: StoredPage | None, database: Database) -> InDatabase | None:
    text = database.pages.text(page.url) if page else None
    if page is None or text is None:
        return None
    return InDatabase(page=page, text=text.text, passages=tuple(database.chunks.of_page(page.id)))


def _would_make(disk: OnDisk, settings: Settings) -> int:
    if disk.page is None or disk.page.is_landing:
        return 0
    return len(wiring.make_chunker(settings).chunk(disk.page))


class _Watched:
    """Retrieves, and remembers what was asked and found."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever
        self.query: Query | None = None
        self.hits: tuple[Hit, ...] = ()

    def retrieve(self, query: Query) -> tuple[Hit, ...]:
        """Return what the retriever finds."""
        self.query = query
        self.hits = self._retriever.retrieve(query)
        return self.hits


class _Silent:
    """Writes nothing: the way ends at the prompt."""

    name = "none"

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Return an empty draft."""
        return Draft(text="", route=self.name, finish="stop", written_by_model=False)


class _Deferred:
    """The generator of the settings, chosen when it is needed: its faults come after retrieval."""

    name = "deferred"

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database

    def generate(self, prompt: Prompt, *, on_text: Callable[[str], None]) -> Draft:
        """Choose the generator and let it write."""
        wiring.admit_question(self._settings, self._database)
        chosen = wiring.make_generator(self._settings)
        told = Output(environ=os.environ).waiting
        chosen = wiring.with_slots(chosen, self._settings, self._database, on_wait=told)
        return chosen.part.generate(prompt, on_text=on_text)


def _ask(
    question: str,
    settings: Settings,
    database: Database,
    identity: IndexIdentity,
    targets: tuple[StoredChunk, ...],
    tracks: tuple[str, ...],
    *,
    writes: bool,
) -> Asking:
    search = wiring.make_search(settings, database, recorded=identity)
    watched = _Watched(search.retriever)
    prompts: list[Prompt] = []
    generator: Generator = _Deferred(settings, database) if writes else _Silent()
    found, failure = None, None
    try:
        found = answer(
            question,
            options=replace(
                answer_options(
                    settings,
                    database,
                    embedding_model=identity.embedding.label,
                    tracks=tracks,
                ),
                block=(),  # what is cited is looked at, no text is shown
            ),
            embedder=search.embedder,
            retriever=watched,
            coverage=wiring.make_coverage(database),
            generator=generator,
            on_evidence=lambda _evidence: None,
            on_prompt=prompts.append,
            on_text=lambda _piece: None,
            tracing=Stopwatch(clock=time.perf_counter),
        )
    except ModelError as error:
        if watched.query is None or not prompts:
            raise
        failure = error
    query = watched.query
    assert query is not None
    ranks = wiring.make_rankings(database).of(query, [target.id for target in targets])
    return Asking(
        ranks=ranks,
        mode=settings.retrieval.mode if query.vector else "keyword",
        k=settings.retrieval.k,
        tracks=tracks,
        hits=watched.hits,
        prompt_passages=prompts[-1].passages,
        answer=found if writes else None,
        failure=failure,
        unreached=search.unreached or _unreached(query, settings),
        missed_by_index=_is_missed(database, query, ranks.by_nearness),
    )


def _unreached(query: Query, settings: Settings) -> str:
    is_asked_for = settings.retrieval.mode != "keyword"
    return "" if query.vector or not is_asked_for else "the embedding model is out of reach"


def _is_missed(database: Database, query: Query, rank: PassageRank) -> bool:
    """Tell whether an index in use hides a passage that is among the k nearest."""
    scan = database.vector_index.in_use() if query.vector else None
    if scan is None or not scan.suits(query) or rank.rank is None or rank.rank > query.k:
        return False
    found = scan.retrieve(query)  # too few are followed by the exact scan
    return len(found) == query.k and rank.chunk_id not in {hit.chunk_id for hit in found}


def _show(question: str, subject: Subject, product: tuple[Factor, ...], output: Output) -> None:
    about = [subject.url]
    about += [f"section {subject.section!r}"] if subject.section else []
    about += [f"words {subject.words!r}"] if subject.words else []
    output.line(Text(harmless(question), style="bold"))
    output.line(", ".join(about))
    output.line()
    looks = {True: ("yes", "green"), False: ("NO", "bold red"), None: ("-", "")}
    for factor in product:
        word, style = looks[factor.holds]
        line = Text.assemble((f"{word:<5}", style), f"{factor.name:<10} {harmless(factor.told)}")
        output.line(line)
    output.line()
    zero = first_zero(product)
    if zero is None:
        output.line("No factor is zero.")
        return
    output.line(Text.assemble("The first zero: ", (zero.name, "bold")))
    if zero.change:
        output.line(f"  {zero.change}")


def _document(question: str, evidence: Evidence, product: tuple[Factor, ...]) -> dict[str, object]:
    zero = first_zero(product)
    asking, subject = evidence.asking, evidence.subject
    answered = asking.answer if asking else None
    return {
        "schema": "ragctl.why/1",
        "question": question,
        "page": subject.url,
        "section": subject.section,
        "text": subject.words,
        "holds": zero is None,
        "first_zero": zero.name if zero else "",
        "change": zero.change if zero else "",
        "factors": [
            {
                "name": factor.name,
                "holds": factor.holds,
                "value": factor.value,
                "told": factor.told,
                "change": factor.change,
            }
            for factor in product
        ],
        "best": _rank_document(evidence, asking.ranks.by_nearness) if asking else None,
        "mode": asking.mode if asking else "",
        "ranks": {
            mode: _rank_document(evidence, asking.ranks.in_mode(mode))
            for mode in ("hybrid", "vector", "keyword")
        }
        if asking
        else None,
        "answer": answered.text if answered else None,
        "route": answered.route if answered else None,
    }


def _rank_document(evidence: Evidence, rank: PassageRank) -> dict[str, object]:
    return {
        "ref": next((t.chunk.ref for t in evidence.targets if t.id == rank.chunk_id), ""),
        "rank": rank.rank,
        "among": rank.among,
        "score": rank.score,
        "score_at_k": rank.score_at_k,
    }
