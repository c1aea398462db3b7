"""Why a page is in the answer to a question, or why not: the product of factors.

A page reaches an answer through a chain of steps, and one step that gives nothing makes the whole
product zero, whatever the others gave. Each factor is a number that can be looked at; the first
zero is the place to mend.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragctl.why.evidence import Asking, Evidence, place_of
from ragctl.why.ranks import brought_in, ranked, why_not_found

if TYPE_CHECKING:
    from ragctl.records.search import Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One step from file to citation.

    ``value`` is what it gave; ``holds`` tells whether that is enough, ``None`` where it was not
    looked at; ``told`` says it in words, ``change`` what would turn a zero into something.
    """

    name: str
    holds: bool | None
    value: int | None
    told: str
    change: str = ""


def factors(evidence: Evidence) -> tuple[Factor, ...]:
    """Return the factors in the order of the pipeline, from file to citation."""
    words = (_words(evidence),) if evidence.subject.words else ()
    asked = (_ranked, _retrieved, _sent, _cited)
    asking = evidence.asking
    return (
        _file(evidence),
        _text(evidence),
        *words,
        _passages(evidence),
        _stored(evidence),
        *(
            factor(evidence, asking)
            if asking is not None
            else Factor(name=_NAMES[factor], holds=None, value=None, told="not looked at")
            for factor in asked
        ),
    )


def first_zero(product: Sequence[Factor]) -> Factor | None:
    """Return the factor at which a page is lost, ``None`` where all hold."""
    return next((factor for factor in product if factor.holds is False), None)


def _zero(name: str, told: str, change: str) -> Factor:
    return Factor(name=name, holds=False, value=0, told=told, change=change)


def _file(evidence: Evidence) -> Factor:
    disk, stored, subject = evidence.disk, evidence.stored, evidence.subject
    if not disk.root_exists and stored is None:
        known = _nearest(subject.url, evidence.stored_urls)
        return _zero("file", f"{subject.url} is not in the database{known}", _NAME_ANOTHER)
    if not disk.root_exists:
        told = "the content root is not on this disk: not looked at"
        return Factor(name="file", holds=None, value=None, told=told)
    if not disk.path and stored is not None:
        told = f"{stored.page.source_path} is gone from the disk; its page is still stored"
        return _zero("file", told, "`ragctl ingest` removes it; bring the file back to keep it.")
    if not disk.path:
        known = _nearest(subject.url, (*disk.urls, *evidence.stored_urls))
        return _zero("file", f"there is no page {subject.url}{known}", _NAME_ANOTHER)
    if disk.left_out and not (stored and stored.page.is_draft):
        return _zero("file", f"{disk.path} is left out: {disk.left_out}", _admit(disk.left_out))
    told = disk.path
    if stored and disk.page and disk.page.sha256 != stored.page.sha256:
        told += ", changed since it was ingested: `ragctl ingest` brings that in"
    return Factor(name="file", holds=True, value=1, told=told)


_NAME_ANOTHER = "Name a page of the site: `ragctl sources` lists them."


def _admit(reason: str) -> str:
    if reason == "a draft":
        return "Take `draft` out of its front matter, or run `ragctl ingest --drafts`."
    if reason.startswith("excluded"):
        return "Change site.exclude, then run `ragctl ingest`."
    return "Mend that, then run `ragctl ingest`."


def _nearest(url: str, urls: Sequence[str]) -> str:
    near = difflib.get_close_matches(url, list(dict.fromkeys(urls)), n=1, cutoff=0.0)
    return f"; the nearest is {near[0]}" if near else ""


def _text(evidence: Evidence) -> Factor:
    page = evidence.disk.page
    text = evidence.stored.text if evidence.stored else page.text if page else None
    if text is None:
        return Factor(name="text", holds=None, value=None, told="not looked at")
    characters = len(text.strip())
    if characters == 0:
        kinds = sorted({removal.kind for removal in page.removals} - {"blank"}) if page else []
        gone = f": all of it is {', '.join(kinds)}" if kinds else ""
        return _zero("text", f"no text is left of the file{gone}", "Write text into the page.")
    return Factor(name="text", holds=True, value=characters, told=f"{characters:,} characters")


def _words(evidence: Evidence) -> Factor:
    disk, stored, words = evidence.disk, evidence.stored, evidence.subject.words
    text = stored.text if stored else disk.page.text if disk.page else None
    if text is None:
        return Factor(name="words", holds=None, value=None, told="not looked at")
    place = place_of(words, text)
    if place is not None:
        told = f"in the text from character {place[0]:,}"
        return Factor(name="words", holds=True, value=1, told=told)
    if stored and disk.page and place_of(words, disk.page.text):
        return _zero("words", "in the file now, not when it was ingested", "Run `ragctl ingest`.")
    in_file = place_of(words, disk.raw)
    if in_file is not None:
        line = disk.raw.count("\n", 0, in_file[0]) + 1
        removals = disk.page.removals if disk.page else ()
        kinds = [r.kind for r in removals if r.first_line <= line <= r.last_line]
        told = f"line {line} of the file has them, what was read of it does not"
        told += f" ({kinds[0]})" if kinds else ""
        return _zero("words", told, "Write them as text: no reader of the page sees them.")
    return _zero("words", "nowhere in the page", "Look for words that the page has.")


def _passages(evidence: Evidence) -> Factor:
    stored, page = evidence.stored, evidence.disk.page
    if stored is None and page is None:
        return Factor(name="passages", holds=None, value=None, told="not looked at")
    if stored.page.is_landing if stored else page is not None and page.is_landing:
        told = "a landing page introduces its folder and gives none"
        return _zero("passages", told, "Put what should be found on a page of its own.")
    if stored is None:
        count = evidence.would_make
        told = f"{count:,} would be made"
    elif evidence.subject.section or evidence.subject.words:
        count = len(evidence.targets)
        told = f"{count:,} of the page's {len(stored.passages):,} hold it"
    else:
        count = len(stored.passages) + stored.page.refused
        told = f"{count:,} made"
    if count == 0:
        return _no_passages(evidence, told)
    return Factor(name="passages", holds=True, value=count, told=told)


def _no_passages(evidence: Evidence, told: str) -> Factor:
    section, stored = evidence.subject.section, evidence.stored
    if stored is None or not section:
        return _zero("passages", told, "Write text into the page, then run `ragctl ingest`.")
    labels = {passage.chunk.section for passage in stored.passages if passage.chunk.section}
    if evidence.disk.page is not None:
        labels |= {heading.label for heading in evidence.disk.page.headings}
    near = difflib.get_close_matches(section, sorted(labels), n=1, cutoff=0.0)
    known = f"; the nearest section is {near[0]!r}" if near else ""
    refused = f" ({stored.page.refused} were refused)" if stored.page.refused else ""
    return _zero("passages", f"{told}{refused}{known}", "Name a section that the page has.")


def _stored(evidence: Evidence) -> Factor:
    stored = evidence.stored
    if stored is None:
        return _zero("stored", "the page is not in the database", _how_to_store(evidence))
    narrowed = bool(evidence.subject.section or evidence.subject.words)
    count = len(evidence.targets) if narrowed else len(stored.passages)
    refused = stored.page.refused
    told = f"{count:,} with a vector"
    told += f", {refused:,} of the page refused by the embedding model" if refused else ""
    if count == 0:
        change = "`ragctl ingest` tries refused passages again and says why." if refused else ""
        return _zero("stored", told, change)
    return Factor(name="stored", holds=True, value=count, told=told)


def _how_to_store(evidence: Evidence) -> str:
    page, tracks = evidence.disk.page, evidence.site_tracks
    if page is not None and tracks and page.track not in tracks:
        return f"Its track {page.track} is not in site.tracks: add it, then run `ragctl ingest`."
    return "Run `ragctl ingest`."


def _ranked(evidence: Evidence, asking: Asking) -> Factor:
    rank = asking.rank.rank
    told, change = ranked(evidence, asking)
    if rank is None:
        return _zero("rank", told, change)
    return Factor(name="rank", holds=True, value=rank, told=told)


def _retrieved(evidence: Evidence, asking: Asking) -> Factor:
    numbers = _numbers(evidence, asking.hits)
    if numbers:
        told = f"{_marks(numbers)} of the {asking.k} found{brought_in(asking)}"
        return Factor(name="retrieved", holds=True, value=len(numbers), told=told)
    told, change = why_not_found(evidence, asking)
    return _zero("retrieved", told, change)


def _sent(evidence: Evidence, asking: Asking) -> Factor:
    numbers = _numbers(evidence, asking.prompt_passages)
    if numbers:
        told = f"{_marks(numbers)} of {len(asking.prompt_passages)} passages sent"
        return Factor(name="prompt", holds=True, value=len(numbers), told=told)
    if not _numbers(evidence, asking.hits):
        return _zero("prompt", "not in the prompt", "")
    told = "not in the prompt"
    dropped = len(asking.hits) - len(asking.prompt_passages)
    if dropped:
        told += f": the last {dropped} did not fit the model's window"
    change = "Raise generation.num_ctx, or ask with a smaller -k."
    return _zero("prompt", told, change)


def _cited(evidence: Evidence, asking: Asking) -> Factor:
    if asking.failure is not None:
        told = f"there is no answer: {asking.failure.message}"
        return _zero("cited", told, asking.failure.hint or "Look at `ragctl doctor`.")
    answer = asking.answer
    if answer is None:
        return Factor(name="cited", holds=None, value=None, told="no answer was asked for")
    cited = {number for citation in answer.citations for number in citation.passages}
    numbers = [number for number in _numbers(evidence, asking.prompt_passages) if number in cited]
    if numbers:
        told = f"{_marks(numbers)} by {answer.route}"
        return Factor(name="cited", holds=True, value=len(numbers), told=told)
    told = f"{answer.route} declined to answer" if answer.refused else f"not by {answer.route}"
    if not answer.text.strip():
        told = f"{answer.route} wrote nothing"
    if not _numbers(evidence, asking.prompt_passages):
        return _zero("cited", told, "")
    change = (
        "The model had the passage and made nothing of it: read what it was sent with "
        "`ragctl ask --show-prompt`, ask more pointedly, or try --model."
    )
    return _zero("cited", told, change)


_NAMES = {_ranked: "rank", _retrieved: "retrieved", _sent: "prompt", _cited: "cited"}


def _numbers(evidence: Evidence, hits: Sequence[Hit]) -> list[int]:
    wanted = {target.id for target in evidence.targets}
    return [hit.n for hit in hits if hit.chunk_id in wanted]


def _marks(numbers: Sequence[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)
