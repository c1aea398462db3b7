"""Stages 5 to 8: from a question to an answer whose claims are checked."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ragctl.answering import written
from ragctl.errors import ModelMissing, ModelUnreachable
from ragctl.observe import attributes
from ragctl.prompts import balanced
from ragctl.records.answers import Answer, Attempt, Citation, Draft, Problem, Prompt, Timings
from ragctl.records.links import LinkStyle
from ragctl.records.search import Hit, Query
from ragctl.stages.catalogue import Catalogue, recognise
from ragctl.stages.check import cite, find_problems, nearest_pages, with_support
from ragctl.stages.claims import check_claims, with_site_known
from ragctl.stages.evidence import evidence_of, judged
from ragctl.stages.generate import quoted_beneath
from ragctl.stages.guards.answers import guard_problems
from ragctl.stages.guards.block import as_shown
from ragctl.stages.links import link_to
from ragctl.stages.names import name_keys
from ragctl.stages.refusals import is_refusal
from ragctl.stages.render import render

if TYPE_CHECKING:
    from ragctl.observe.stopwatch import Stopwatch
    from ragctl.protocols import Coverage, Embedder, Generator, Retriever
    from ragctl.records.evidence import Calibration, Evidence
    from ragctl.records.stored import StoredPage
    from ragctl.records.vectors import Vector
    from ragctl.stages.template import Template

CATALOGUE_ROUTE = "catalogue"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """How to answer: what to search, which prompt, how long it may be, where links point.

    ``mode`` names what finds passages, for the trace alone.
    ``budget_tokens`` bounds the prompt; ``least_share`` is that of
    :func:`~ragctl.stages.render.render`.
    With ``words_will_do``, a question that cannot be embedded is answered by its words.
    ``allowed_hosts`` are those of :func:`~ragctl.stages.guards.answers.guard_problems`, ``block``
    the codes of :func:`~ragctl.stages.guards.block.as_shown`.
    """

    tracks: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    mode: str = "hybrid"
    k: int = 5
    template: Template = field(default_factory=balanced)
    budget_tokens: int = 1500
    least_share: float = 0.65
    calibration: Calibration | None = None
    words_will_do: bool = False
    links: LinkStyle = field(default_factory=LinkStyle)
    allowed_hosts: tuple[str, ...] = ()
    block: tuple[str, ...] = ()


def answer(
    question: str,
    *,
    options: AnswerOptions,
    embedder: Embedder | None,
    retriever: Retriever,
    coverage: Coverage,
    generator: Generator,
    on_evidence: Callable[[Evidence], None],
    on_prompt: Callable[[Prompt], None],
    on_text: Callable[[str], None],
    tracing: Stopwatch,
    about_site: str = "",
) -> Answer:
    """Answer a question from the passages found for it; without an embedder, by its words.

    ``about_site`` goes into the prompt beside the passages. How likely the passages can answer goes
    to ``on_evidence``, the prompt to ``on_prompt`` before it is sent, the answer's text to
    ``on_text`` piece by piece as it is written, or where something may be withheld from it at once
    after the check; no model is asked where no passage was found. ``tracing`` measures the steps.
    Raises :class:`~ragctl.errors.ModelError` where a model cannot be used; an answer that broke off
    is returned, marked ``torn``.
    """
    with tracing.span("ask") as whole:
        with tracing.span("embed") as embedding:
            vector, unreached = embedded(question, embedder, words_will_do=options.words_will_do)
            embedding.note({"model": embedder.identity.label if embedder and vector else None})
        query = Query(
            text=question, vector=vector, tracks=options.tracks, pages=options.pages, k=options.k
        )
        with tracing.span("search") as searching:
            passages = retriever.retrieve(query)
            searching.note(attributes.of_search(query, passages, mode=options.mode))
        with tracing.span("evidence") as weighing:
            evidence = weighed(question, passages, coverage, options.calibration)
            weighing.note(attributes.of_evidence(evidence))
        on_evidence(evidence)
        with tracing.span("render") as rendering:
            prompt = render(
                question,
                passages,
                template=options.template,
                budget_tokens=options.budget_tokens,
                least_share=options.least_share,
                about_site=about_site,
            )
            prompt = replace(prompt, evidence=evidence)
            rendering.note(attributes.of_prompt(prompt))
        on_prompt(prompt)
        write = _held if options.block else on_text
        draft = written(prompt, passages, generator, on_text=write, tracing=tracing)
        timings = Timings(
            embed=embedding.ms,
            search=searching.ms,
            queue=draft.queue_ms,
            prefill=draft.prefill_ms,
            decode=draft.decode_ms,
            total=whole.ms,
        )
        with tracing.span("check") as checking:
            found = checked(question, draft, prompt, passages, options, timings)
            found = replace(found, problems=(*unreached, *found.problems))
            checking.note(attributes.of_check(found))
    if options.block:
        on_text(found.text)
    return found


def _held(_piece: str) -> None:
    """Take a piece of an answer that nobody may see before it is checked."""


def look_up(
    question: str,
    catalogue: Catalogue,
    *,
    options: AnswerOptions,
    on_text: Callable[[str], None],
    tracing: Stopwatch,
) -> Answer | None:
    """Answer a question about the site itself from its list of pages, before stage 5.

    No model is asked and nothing is searched. ``None`` where the question is about something
    else: then it is one for :func:`answer`.
    """
    with tracing.span("ask") as whole, tracing.span("catalogue") as looking:
        found = recognise(question, catalogue)
        looking.note(
            {"recognised": found is not None, "pages": len(found.pages) if found else None}
        )
    if found is None:
        return None
    on_text(found.text)
    total = whole.ms
    return Answer(
        question=question,
        text=found.text,
        refused=False,
        degraded=False,
        finish="stop",
        citations=tuple(
            _page_cited(n, page, options.links) for n, page in enumerate(found.pages, start=1)
        ),
        passages=(),
        problems=(),
        route=CATALOGUE_ROUTE,
        attempts=(Attempt(route=CATALOGUE_ROUTE, outcome="stop", ms=total),),
        prompt=Prompt(text="", question=question, template="none", passages=()),
        prompt_tokens=None,
        output_tokens=None,
        timings=Timings(total=total),
    )


def _page_cited(n: int, page: StoredPage, links: LinkStyle) -> Citation:
    return Citation(
        n=n,
        title=page.title,
        url=page.url,
        section=None,
        anchor=None,
        link=link_to(links, page.url, page.source_path),
        source_path=page.source_path,
        passages=(),
    )


def weighed(
    question: str,
    passages: Sequence[Hit],
    coverage: Coverage,
    calibration: Calibration | None,
) -> Evidence:
    """Return how likely passages can answer a question."""
    terms = coverage.of(question, passages)
    evidence = evidence_of(passages, terms, names=name_keys(question))
    return judged(evidence, calibration)


def find_passages(
    question: str,
    *,
    embedder: Embedder | None,
    retriever: Retriever,
    tracks: tuple[str, ...],
    pages: tuple[str, ...],
    k: int,
    words_will_do: bool,
) -> tuple[tuple[Hit, ...], tuple[Problem, ...]]:
    """Return the passages for a question, best first, and what the reader must know of them."""
    vector, unreached = embedded(question, embedder, words_will_do=words_will_do)
    query = Query(text=question, vector=vector, tracks=tracks, pages=pages, k=k)
    return retriever.retrieve(query), unreached


def embedded(
    question: str, embedder: Embedder | None, *, words_will_do: bool
) -> tuple[Vector, tuple[Problem, ...]]:
    """Return the vector of a question, empty where it was not embedded, and why it was not.

    Raises :class:`~ragctl.errors.ModelError` where the model cannot be used, unless it is out of
    reach and words will do.
    """
    if embedder is None:
        return array("f"), ()
    try:
        return embedder.embed([question], purpose="query")[0], ()
    except (ModelMissing, ModelUnreachable) as error:
        if not words_will_do:
            raise
        return array("f"), (keyword_only(error.message),)


def keyword_only(reason: str) -> Problem:
    """Return what tells the reader that passages were found by words alone."""
    message = f"Passages were found by their words alone: {reason}."
    return Problem(code="keyword_only", message=message)


def checked(
    question: str,
    draft: Draft,
    prompt: Prompt,
    passages: Sequence[Hit],
    options: AnswerOptions,
    timings: Timings,
) -> Answer:
    """Return what was written with its citations and problems, as it may be shown: stage 8."""
    refused = draft.declined or is_refusal(draft.text)
    beneath = quoted_beneath(draft, prompt) if refused else ""
    claims = () if refused else check_claims(draft.text, prompt.passages)
    claims = with_site_known(claims, prompt.about_site)
    sources = cite(draft.text, prompt.passages, links=options.links)
    guarded = guard_problems(
        "\n".join((draft.text, beneath)),
        prompt,
        site=options.links.base_url,
        allowed_hosts=options.allowed_hosts,
    )
    nearest = nearest_pages(passages, links=options.links)
    found = Answer(
        question=question,
        text=draft.text,
        refused=refused,
        degraded=not draft.written_by_model,
        finish=draft.finish,
        citations=with_support(sources, claims),
        claims=claims,
        passages=tuple(passages),
        evidence=prompt.evidence,
        nearest=nearest if refused else (),
        beneath=beneath,
        problems=(
            *draft.problems,
            *find_problems(
                draft,
                prompt,
                refused=refused,
                claims=claims,
                quoted_beneath=bool(beneath),
                found=passages,
            ),
            *guarded,
        ),
        route=draft.route,
        attempts=draft.attempts,
        prompt=prompt,
        prompt_tokens=draft.prompt_tokens,
        output_tokens=draft.output_tokens,
        timings=timings,
        cost_usd=draft.cost_usd,
    )
    return as_shown(found, block=options.block, nearest=nearest)
