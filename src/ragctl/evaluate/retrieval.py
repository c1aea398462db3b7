"""Figures of retrieval: does what is found hold the page, the section and the facts asked for?

A question counts for the figures it can have: those of pages where it names a gold page, of
sections where it names a section, of facts where it names facts and a gold page. Several gold
places are alternatives: one of them found is enough; of the facts all must be there.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Protocol, TypeVar

from ragctl.records.search import Hit, Query
from ragctl.stages.render import render
from ragctl.stages.tokens import estimated_tokens

if TYPE_CHECKING:
    from ragctl.evaluate.questions import KnownQuestion
    from ragctl.protocols import Embedder, Retriever
    from ragctl.stages.template import Template

OVERALL = "all"
SHARES = ("pages_at_1", "pages_at_k", "sections_at_k", "facts_at_k", "mrr")
"""The figures that are means over questions, by their names in :class:`Figures`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What was found for one question, best first.

    Ranks count from 1, 0 where nothing found fits, ``None`` where the question has no gold;
    ``missing`` are the facts that no passage holds, ``None`` where it asks for none.
    """

    question: KnownQuestion
    hits: tuple[Hit, ...]
    page_rank: int | None
    section_rank: int | None
    missing: tuple[str, ...] | None
    prompt_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of some questions: shares from 0 to 1, ``None`` where no question counts.

    ``mrr`` is the mean of one over the rank of the gold page, 0 where it was not found.
    """

    kind: str
    questions: int
    with_gold: int
    pages_at_1: float | None
    pages_at_k: float | None
    sections_at_k: float | None
    facts_at_k: float | None
    mrr: float | None
    prompt_tokens_median: int
    prompt_tokens_p90: int


def evaluate_retrieval(
    questions: Sequence[KnownQuestion],
    *,
    embedder: Embedder | None,
    retriever: Retriever,
    k: int,
    batch_size: int,
    prompt_tokens: Callable[[str, Sequence[Hit]], int],
    report: Callable[[int], None],
) -> Iterator[Scored]:
    """Yield each question with what is found for it; ``report`` is told how many are done.

    Without an embedder questions have no vector: what finds passages by words needs none.
    """
    for start in range(0, len(questions), batch_size):
        batch = questions[start : start + batch_size]
        texts = [known.question for known in batch]
        vectors = embedder.embed(texts, purpose="query") if embedder else [array("f")] * len(batch)
        for known, vector in zip(batch, vectors, strict=True):
            hits = retriever.retrieve(Query(text=known.question, vector=vector, k=k))
            yield score(known, hits, prompt_tokens=prompt_tokens(known.question, hits))
        report(start + len(batch))


def prompt_tokens(
    question: str,
    hits: Sequence[Hit],
    *,
    template: Template,
    budget_tokens: int,
    least_share: float = 0.0,
) -> int:
    """Return the tokens of the prompt that ``ragctl ask`` would send, by the named counter."""
    prompt = render(
        question,
        hits,
        template=template,
        budget_tokens=budget_tokens,
        least_share=least_share,
    )
    return estimated_tokens(prompt.text)


def score(known: KnownQuestion, hits: Sequence[Hit], *, prompt_tokens: int) -> Scored:
    """Return how well what was found fits a question."""
    pages = {gold.url for gold in known.gold}
    sections = {(gold.url, folded(gold.section)) for gold in known.gold if gold.section}
    return Scored(
        question=known,
        hits=tuple(hits),
        page_rank=_rank([hit.url in pages for hit in hits]) if pages else None,
        section_rank=(
            _rank([(hit.url, folded(hit.section or "")) in sections for hit in hits])
            if sections
            else None
        ),
        missing=_missing(known, hits) if known.must_contain and known.gold else None,
        prompt_tokens=prompt_tokens,
    )


def _rank(fits: Sequence[bool]) -> int:
    return fits.index(True) + 1 if True in fits else 0


def folded(text: str) -> str:
    """Return a text as facts and sections are compared: small letters, blanks collapsed."""
    return " ".join(text.split()).casefold()


def _missing(known: KnownQuestion, hits: Sequence[Hit]) -> tuple[str, ...]:
    found = folded("\n".join(hit.body for hit in hits))
    return tuple(fact for fact in known.must_contain if folded(fact) not in found)


def figures(scored: Sequence[Scored]) -> tuple[Figures, ...]:
    """Return the figures of each kind of question by name, and last those of all."""
    return tuple(_figures(kind, group) for kind, group in by_kind(scored))


def shares(scored: Sequence[Scored]) -> dict[str, float | None]:
    """Return the figures of all questions that ``SHARES`` names."""
    overall = figures(scored)[-1]
    return {name: getattr(overall, name) for name in SHARES}


class _OfQuestion(Protocol):
    @property
    def question(self) -> KnownQuestion: ...


Each = TypeVar("Each", bound=_OfQuestion)


def by_kind(scored: Sequence[Each]) -> list[tuple[str, list[Each]]]:
    """Return the questions of each kind by name, and last all of them."""
    kinds = sorted({each.question.kind for each in scored})
    groups = [(kind, [each for each in scored if each.question.kind == kind]) for kind in kinds]
    return [*groups, (OVERALL, list(scored))]


def values(each: Scored) -> dict[str, float | None]:
    """Return what a question adds to each of ``SHARES``, ``None`` where it does not count."""
    page, section = each.page_rank, each.section_rank
    return {
        "pages_at_1": None if page is None else float(page == 1),
        "pages_at_k": None if page is None else float(page > 0),
        "sections_at_k": None if section is None else float(section > 0),
        "facts_at_k": None if each.missing is None else float(not each.missing),
        "mrr": None if page is None else 1 / page if page else 0.0,
    }


def _figures(kind: str, scored: Sequence[Scored]) -> Figures:
    rows = [values(each) for each in scored]
    means = {
        name: _mean([value for row in rows if (value := row[name]) is not None]) for name in SHARES
    }
    tokens = sorted(each.prompt_tokens for each in scored)
    return Figures(
        kind=kind,
        questions=len(scored),
        with_gold=sum(each.page_rank is not None for each in scored),
        **means,
        prompt_tokens_median=int(median(tokens)) if tokens else 0,
        prompt_tokens_p90=tokens[math.ceil(0.9 * len(tokens)) - 1] if tokens else 0,
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
