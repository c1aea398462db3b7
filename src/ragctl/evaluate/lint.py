"""What is wrong with a question file, told before it is measured with.

A finding makes a figure wrong: a page that is not there cannot be found. A note makes it easier
than it looks, or harder to read; it fails nothing.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ragctl.evaluate.retrieval import folded
from ragctl.stages.catalogue.headings import headings_of
from ragctl.stages.names import COMMON_WORDS

if TYPE_CHECKING:
    from ragctl.evaluate.questions import Gold, KnownQuestion, QuestionLine
    from ragctl.evaluate.site import SitePage

ALIKE: Final = 0.8
"""Two questions are nearly the same that share this part of all their telling words."""

_MARKS: Final = "?!.,;:\"'“”‘’()"
_NEAR: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about one line of a question file; a note where ``is_note``."""

    line: int
    id: str
    code: str
    message: str
    is_note: bool = False


def lint(
    lines: Sequence[QuestionLine], site: Mapping[str, SitePage], *, urls: Sequence[str]
) -> tuple[Finding, ...]:
    """Return all findings and notes on a file, by line.

    ``site`` holds the gold pages by address, those that are there; ``urls`` are the addresses of
    all pages, so that the nearest can be told.
    """
    found = [
        Finding(line=line.number, id="", code="malformed", message=line.problem)
        for line in lines
        if line.question is None
    ]
    asked = [(line.number, line.question) for line in lines if line.question is not None]
    for number, known in asked:
        found.extend(_about(number, known, site, urls))
    found.extend(_repeated(asked))
    return tuple(sorted(found, key=lambda each: (each.line, each.is_note)))


def gold_urls(lines: Sequence[QuestionLine]) -> tuple[str, ...]:
    """Return the addresses of all gold pages that a file names, each once."""
    named = (gold.url for line in lines if line.question for gold in line.question.gold)
    return tuple(dict.fromkeys(named))


def _about(
    number: int, known: KnownQuestion, site: Mapping[str, SitePage], urls: Sequence[str]
) -> Iterator[Finding]:
    placed = _places(known, site, urls)
    for code, message in (*_contradictions(known), *placed, *_absent(known, site)):
        yield Finding(line=number, id=known.id, code=code, message=message)
    for code, message in (*_too_easy(known), *_elsewhere(known, site), *_unlabelled(known)):
        yield Finding(line=number, id=known.id, code=code, message=message, is_note=True)


def _contradictions(known: KnownQuestion) -> Iterator[tuple[str, str]]:
    if known.answerable and not known.gold:
        yield "no_gold", "it is answerable and names no gold page"
    if not known.answerable and known.gold:
        yield "gold_of_unanswerable", "it is not answerable and names a gold page"
    if not known.answerable and known.must_contain:
        yield "facts_of_unanswerable", "it is not answerable and names facts"


def _places(
    known: KnownQuestion, site: Mapping[str, SitePage], urls: Sequence[str]
) -> Iterator[tuple[str, str]]:
    for gold in known.gold:
        page = site.get(gold.url)
        if page is None:
            yield "unknown_page", f"there is no page {gold.url!r}{_nearest(gold.url, urls)}"
        elif not page.passages:
            yield "empty_page", f"{gold.url} has no passages: no search can find it"
        elif gold.section and folded(gold.section) not in page.sections():
            yield _without_passage(gold.section, page)


def _without_passage(section: str, page: SitePage) -> tuple[str, str]:
    """Tell a heading that no passage begins under, which no search finds, from one not there."""
    headings = {folded(label): label for _, label in headings_of((), {page.url: page.text})}
    label = headings.get(folded(section))
    if label is None:
        near = _nearest(section, list(page.sections().values()))
        return "unknown_section", f"{page.url} has no section {section!r}{near}"
    holding = [each.section for each in page.passages if each.section and label in each.body]
    where = f"; its text is found as {holding[0]!r}" if holding else ""
    return (
        "section_without_passage",
        f"no passage of {page.url} begins under the heading {section!r}{where}",
    )


def _nearest(name: str, known: Sequence[str]) -> str:
    by_folded = {folded(each): each for each in known}
    near = difflib.get_close_matches(folded(name), by_folded, n=1, cutoff=_NEAR)
    return f"; the nearest is {by_folded[near[0]]!r}" if near else ""


def _gold_pages(known: KnownQuestion, site: Mapping[str, SitePage]) -> list[SitePage]:
    return [site[url] for url in dict.fromkeys(gold.url for gold in known.gold) if url in site]


def _texts(page: SitePage) -> tuple[str, str]:
    """Return the two that a fact may stand in: a cut listing has its head in passages alone."""
    return folded(page.text), folded("\n".join(passage.body for passage in page.passages))


def _absent(known: KnownQuestion, site: Mapping[str, SitePage]) -> Iterator[tuple[str, str]]:
    pages = _gold_pages(known, site)
    texts = [text for page in pages for text in _texts(page)]
    for fact in known.must_contain:
        if pages and not any(folded(fact) in text for text in texts):
            where = pages[0].url if len(pages) == 1 else "any of its gold pages"
            yield "absent_fact", f"{fact!r} does not stand on {where}"


def _elsewhere(known: KnownQuestion, site: Mapping[str, SitePage]) -> Iterator[tuple[str, str]]:
    places = [gold for gold in known.gold if gold.url in site]
    if not places or not all(_is_known_section(gold, site[gold.url]) for gold in places):
        return
    sections = [folded(site[gold.url].section_text(gold.section or "")) for gold in places]
    for fact in known.must_contain:
        if any(folded(fact) in section for section in sections):
            continue
        for page in _gold_pages(known, site):
            others = [each for each in page.sections().values() if _holds(page, each, fact)]
            if others:
                yield (
                    "fact_elsewhere",
                    f"{fact!r} stands not in the gold section but in {others[0]!r} of {page.url}",
                )
                break


def _is_known_section(gold: Gold, page: SitePage) -> bool:
    return bool(gold.section) and folded(gold.section or "") in page.sections()


def _holds(page: SitePage, section: str, fact: str) -> bool:
    bodies = [each.body for each in page.passages if folded(each.section or "") == folded(section)]
    return folded(fact) in folded("\n".join(bodies))


def _too_easy(known: KnownQuestion) -> Iterator[tuple[str, str]]:
    for fact in known.must_contain:
        if known.gold and folded(fact) in folded(known.question):
            yield "fact_in_question", f"the question holds the fact {fact!r} itself"


def _unlabelled(known: KnownQuestion) -> Iterator[tuple[str, str]]:
    if known.kind == "unnamed":
        yield "no_kind", "it has no kind: figures by kind will not tell it apart"


def _repeated(asked: Sequence[tuple[int, KnownQuestion]]) -> Iterator[Finding]:
    """Yield each question that is another's, or nearly, at the later of the two lines."""
    plain = [" ".join(_words(known.question)) for _, known in asked]
    words = [frozenset(_words(known.question)) - COMMON_WORDS for _, known in asked]
    first: dict[str, int] = {}
    for later, (number, known) in enumerate(asked):
        before, _ = asked[first.setdefault(plain[later], later)]
        if before != number:
            message = f"the question of line {before} again"
            yield Finding(line=number, id=known.id, code="duplicate", message=message)
    for earlier, later in _candidates(words):
        shared = len(words[earlier] & words[later]) / len(words[earlier] | words[later])
        if shared >= ALIKE and plain[earlier] != plain[later]:
            (before, other), (number, known) = asked[earlier], asked[later]
            same_gold = set(known.gold) == set(other.gold)
            asks = "" if same_gold else ", with other gold"
            yield Finding(
                line=number,
                id=known.id,
                code="near_duplicate",
                message=f"nearly the question of line {before}{asks}",
                is_note=not same_gold,
            )


def _words(question: str) -> list[str]:
    """Return the words without marks around them; ``C++`` and ``C#`` stay two."""
    stripped = (word.strip(_MARKS) for word in folded(question).split())
    return [word for word in stripped if word]


def _candidates(words: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """Return the pairs that may share enough, without comparing all with all.

    Sets that share the part ``ALIKE`` share a word among the rarest of each (prefix filter of
    Chaudhuri, Ganti and Kaushik, *A Primitive Operator for Similarity Joins*, 2006).
    """
    counts = Counter(word for each in words for word in each)
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    pairs: set[tuple[int, int]] = set()
    for later, each in enumerate(words):
        rarest = sorted(each, key=lambda word: (counts[word], word))
        for word in rarest[: len(each) - math.ceil(ALIKE * len(each)) + 1]:
            pairs.update((earlier, later) for earlier in by_word[word])
            by_word[word].append(later)
    return sorted(pairs)
