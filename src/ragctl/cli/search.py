"""``ragctl search``: passages without an answer, and why they were found."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ragctl import wiring
from ragctl.cli import options
from ragctl.cli.documents import passage_document
from ragctl.cli.output import Output, harmless
from ragctl.cli.question import read_question, usable_question
from ragctl.cli.render import counted, show_passage
from ragctl.cli.sources import known_pages, require_known_tracks
from ragctl.db.search import VECTOR_WEIGHT
from ragctl.errors import ContentError
from ragctl.pipeline.answer import find_passages, keyword_only
from ragctl.stages.explain import Explanation, explain
from ragctl.stages.links import link_to

if TYPE_CHECKING:
    from ragctl.records.answers import Problem
    from ragctl.records.links import LinkStyle
    from ragctl.records.search import Hit
    from ragctl.settings import Settings

app = options.command_app("Find passages, and see why they were found.")


@app.command(
    epilog='Example: ragctl search "bpf_reg_state" --explain -k 3',
)
def search(
    words: Annotated[
        str, typer.Argument(metavar="WORDS", help="A question or words; - reads them from stdin.")
    ],
    track: options.Tracks = None,
    page: options.Pages = None,
    mode: options.Mode = None,
    k: options.PassagesWanted = None,
    with_explanation: Annotated[
        bool,
        typer.Option("--explain", help="Take the score of each passage apart, term by term."),
    ] = False,
    json: options.Json = False,
    site: options.Site = None,
    database_url: options.DatabaseUrl = None,
    debug: options.Debug = False,
) -> None:
    """Find the passages that `ragctl ask` would answer from, and print them."""
    settings = wiring.load_settings(
        {
            "site.name": site,
            "database.url": database_url,
            "retrieval.k": k,
            "retrieval.mode": mode,
        }
    )
    asked = usable_question(
        read_question(sys.stdin) if words == "-" else words,
        example='ragctl search "token bucket"',
    )
    output = Output(environ=os.environ)
    found, problems = _found(asked, settings, tuple(track or ()), tuple(page or ()))
    if json:
        document = _document(asked, settings, found, problems, with_explanation=with_explanation)
        output.json(document)
        return
    for problem in problems:
        output.remark(problem.message, style="yellow")
    if not found:
        output.remark("No passage holds any of these words.")
    for explanation in found:
        show_passage(explanation.hit, output, heading_only=with_explanation)
        if with_explanation:
            _show(explanation, output)


def _found(
    words: str, settings: Settings, tracks: tuple[str, ...], pages: tuple[str, ...]
) -> tuple[Sequence[Explanation], tuple[Problem, ...]]:
    with wiring.open_database(settings) as database:
        identity = database.identity.load()
        if identity is None or database.chunks.count() == 0:
            raise ContentError(
                "nothing has been ingested yet",
                hint="Run `ragctl ingest PATH/TO/CONTENT` first.",
            )
        require_known_tracks(database.pages.tracks(), tracks)
        if pages:
            base_url = settings.site.base_url
            pages = known_pages(database.pages.all(), pages, tracks=tracks, base_url=base_url)
        search = wiring.make_search(settings, database, recorded=identity)
        hits, problems = find_passages(
            words,
            embedder=search.embedder,
            retriever=search.retriever,
            tracks=tracks,
            pages=pages,
            k=settings.retrieval.k,
            words_will_do=settings.retrieval.mode == "hybrid",
        )
        if search.unreached:
            problems = (keyword_only(search.unreached), *problems)
        shares = wiring.make_term_shares(database).of(words, hits)
    return explain(hits, shares, vector_weight=VECTOR_WEIGHT), problems


def _show(explanation: Explanation, output: Output) -> None:
    hit, lead = explanation.hit, explanation.lead
    weight = VECTOR_WEIGHT if hit.keyword_score is not None else 1.0
    if hit.vector_score is not None:
        output.line(f"    vector   {hit.vector_score:.3f} x {weight:g} = {explanation.vector:.3f}")
    if hit.keyword_score is not None:
        weight = 1.0 if hit.vector_score is None else 1 - VECTOR_WEIGHT
        output.line(
            f"    keyword  {hit.keyword_score:.3f} x {weight:g} = {explanation.keyword:.3f}"
        )
        for share, score in explanation.shares:
            name = ", exact name" if share.is_name else ""
            output.line(
                f"      {score:.3f}  {harmless(share.term)}  "
                f"(idf {share.idf:.2f}, in {counted(share.passages, 'passage')}{name})"
            )
    output.line(Text(f"    sum      {hit.score:.3f}", style="bold"))
    if lead is not None:
        output.line(f"    ahead of [{hit.n + 1}] by {_reasons(hit, explanation)}")
    output.line()


def _reasons(hit: Hit, explanation: Explanation) -> str:
    lead = explanation.lead
    assert lead is not None
    told = f"{lead.score:.3f}"
    if hit.keyword_score is None or hit.vector_score is None:
        return told + (f", most by {harmless(lead.term)}" if lead.term else "")
    told += f": vector {lead.vector:+.3f}, keyword {lead.keyword:+.3f}"
    if lead.term:
        told += f" ({harmless(lead.term)} {lead.term_score:+.3f})"
    return told


def _document(
    words: str,
    settings: Settings,
    found: Sequence[Explanation],
    problems: Sequence[Problem],
    *,
    with_explanation: bool,
) -> dict[str, object]:
    links = wiring.link_style(settings)
    return {
        "schema": "ragctl.search/1",
        "question": words,
        "mode": "keyword" if problems else settings.retrieval.mode,
        "k": settings.retrieval.k,
        "passages": [
            _passage(explanation, links, with_explanation=with_explanation) for explanation in found
        ],
        "problems": [{"code": problem.code, "message": problem.message} for problem in problems],
    }


def _passage(
    explanation: Explanation, links: LinkStyle, *, with_explanation: bool
) -> dict[str, object]:
    hit, lead = explanation.hit, explanation.lead
    document: dict[str, object] = {
        **passage_document(hit),
        "link": link_to(links, hit.url, hit.source_path, hit.anchor),
    }
    if with_explanation:
        document["explanation"] = {
            "vector": round(explanation.vector, 6),
            "keyword": round(explanation.keyword, 6),
            "terms": [
                {
                    "term": share.term,
                    "passages": share.passages,
                    "idf": round(share.idf, 6),
                    "share": round(score, 6),
                    "is_name": share.is_name,
                }
                for share, score in explanation.shares
            ],
            "lead": lead
            and {
                "score": round(lead.score, 6),
                "vector": round(lead.vector, 6),
                "keyword": round(lead.keyword, 6),
                "term": lead.term,
                "term_score": round(lead.term_score, 6),
            },
        }
    return document
