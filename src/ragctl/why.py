"""Why a page is in the answer to a question, or why not: the product of factors.

A page reaches an answer through a chain of steps, and one step that gives nothing makes the whole
product zero, whatever the others gave. Each factor is a number that can be looked at; the first
zero is the place to mend.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragctl.errors import ContentError, ModelError
from ragctl.files import Found, find, read
from ragctl.protocols import Parser
from ragctl.records import Answer, Heading, Hit, Page, PassageRank, StoredChunk, StoredPage

_HELPFUL_K = 20


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is asked about: a page and, where given, a section of it and words that it holds."""

    url: str
    section: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDisk:
    """What lies below the content root for a page.

    ``root_exists`` is false where the root is not on this disk; ``left_out`` says why a file that
    is there gives no page; ``raw`` is the text of the file, front matter and all.
    """

    root_exists: bool
    path: str = ""
    left_out: str = ""
    page: Page | None = None
    raw: str = ""
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InDatabase:
    """A stored page with its text and passages."""

    page: StoredPage
    text: str
    passages: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What came of the question: where the passages stand, what was sent, what was written.

    ``answer`` is ``None`` where no answer was asked for, or where ``failure`` was in the way;
    ``missed_by_index`` says that the best passage is among the k nearest, which ``rank`` counts
    exactly, and that the approximate index in use does not find it.
    """

    rank: PassageRank
    k: int
    tracks: tuple[str, ...]
    hits: tuple[Hit, ...]
    prompt_passages: tuple[Hit, ...]
    answer: Answer | None = None
    failure: ModelError | None = None
    missed_by_index: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the factors are computed from; ``would_make`` is for a page not yet stored."""

    subject: Subject
    disk: OnDisk
    stored: InDatabase | None
    stored_urls: tuple[str, ...] = ()
    would_make: int = 0
    site_tracks: tuple[str, ...] = ()
    asking: Asking | None = None
    targets: tuple[StoredChunk, ...] = field(default=())


# What is asked about -------------------------------------------------------------------------


def subject_of(page: str, *, section: str, words: str, base_url: str) -> Subject:
    """Return what is asked about; a page may be given as address, link, or path of its file."""
    text = page.strip().removeprefix(base_url.rstrip("/"))
    text = re.sub(r"\A[a-z]+://[^/]*", "", text)
    address, _, fragment = text.partition("#")
    address = re.sub(r"\.(?:md|mdx|markdown|txt|html?)\Z", "", address.strip("/"))
    address = re.sub(r"(?:\A|/)_?index\Z", "", address)
    if re.fullmatch(r"c\d+", fragment):  # the reference of a passage, not an anchor
        fragment = ""
    return Subject(url=f"/{address}", section=section.strip() or fragment, words=words.strip())


def look_on_disk(url: str, root: Path | None, *, exclude: Sequence[str], parser: Parser) -> OnDisk:
    """Return what lies below the content root for the page at ``url``."""
    if root is None or not root.is_dir():
        return OnDisk(root_exists=False)
    found, everything = _found(root, exclude), _found(root, ())
    urls = tuple(source.url for source in found.sources)
    source = next((source for source in everything.sources if source.url == url), None)
    if source is None:
        unread = (note for note in everything.left_out if _address(note.path) == url)
        note = next(unread, None)
        if note is None:
            return OnDisk(root_exists=True, urls=urls)
        return OnDisk(root_exists=True, path=note.path, left_out=note.reason, urls=urls)
    try:
        data = read(source)
    except ContentError as error:
        return OnDisk(root_exists=True, path=source.path, left_out=error.message, urls=urls)
    page = parser.parse(source, data)
    left_out = "excluded by site.exclude" if url not in urls else ""
    return OnDisk(
        root_exists=True,
        path=source.path,
        left_out=left_out or ("a draft" if page.is_draft else ""),
        page=page,
        raw=data.decode("utf-8", "replace"),
        urls=urls,
    )


def _found(root: Path, exclude: Sequence[str]) -> Found:
    try:
        return find(root, exclude=exclude)
    except ContentError:
        return Found(sources=(), left_out=())


def _address(path: str) -> str:
    return "/" + re.sub(r"\.[^./]+\Z", "", path)


def targets_of(subject: Subject, disk: OnDisk, stored: InDatabase) -> tuple[StoredChunk, ...]:
    """Return the stored passages of the section and around the words, of the page without them.

    A passage belongs to a section by its label, and by the section's place where the file is
    still the one that was ingested: a passage may begin in the section before.
    """
    passages = stored.passages
    if subject.section:
        bounds = None
        if disk.page is not None and disk.page.sha256 == stored.page.sha256:
            bounds = _bounds(disk.page.headings, subject.section, len(stored.text))
        passages = tuple(
            passage
            for passage in passages
            if _is_labelled(passage, subject.section)
            or (bounds is not None and _overlaps(passage, bounds))
        )
    if subject.words:
        place = _place(subject.words, stored.text)
        if place is None:
            return ()
        passages = tuple(passage for passage in passages if _overlaps(passage, place))
    return passages


def _bounds(headings: Sequence[Heading], section: str, end: int) -> tuple[int, int] | None:
    for number, heading in enumerate(headings):
        if _is_same(section, heading.label) or _is_same(section, heading.anchor):
            later = (h.start_char for h in headings[number + 1 :] if h.level <= heading.level)
            return heading.start_char, next(later, end)
    return None


def _is_labelled(passage: StoredChunk, section: str) -> bool:
    chunk = passage.chunk
    return any(label is not None and _is_same(section, label) for label in
               (chunk.section, chunk.anchor, *chunk.breadcrumb.split(" > ")))  # fmt: skip


def _is_same(given: str, label: str) -> bool:
    return given.casefold().strip("# ") == label.casefold().strip("# ")


def _overlaps(passage: StoredChunk, bounds: tuple[int, int]) -> bool:
    return passage.chunk.start_char < bounds[1] and bounds[0] < passage.chunk.end_char


def _place(words: str, text: str) -> tuple[int, int] | None:
    match = re.search(r"\s+".join(map(re.escape, words.split())), text, re.IGNORECASE)
    return match.span() if match else None


# The factors ---------------------------------------------------------------------------------


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
    place = _place(words, text)
    if place is not None:
        told = f"in the text from character {place[0]:,}"
        return Factor(name="words", holds=True, value=1, told=told)
    if stored and disk.page and _place(words, disk.page.text):
        return _zero("words", "in the file now, not when it was ingested", "Run `ragctl ingest`.")
    in_file = _place(words, disk.raw)
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
    rank = asking.rank
    if rank.rank is None or rank.score is None:
        told = f"none among the {rank.among:,} passages of {', '.join(asking.tracks)}"
        return _zero("rank", told, "Ask without --track, or name the track of the page.")
    ref = next(target.chunk.ref for target in evidence.targets if target.id == rank.chunk_id)
    told = f"{rank.rank:,} of {rank.among:,} by nearness: {ref} scores {rank.score:.3f}"
    if rank.score_at_k is not None:
        told += f", rank {asking.k} has {rank.score_at_k:.3f}"
    return Factor(name="rank", holds=True, value=rank.rank, told=told)


def _retrieved(evidence: Evidence, asking: Asking) -> Factor:
    numbers = _numbers(evidence, asking.hits)
    if numbers:
        told = f"{_marks(numbers)} of the {asking.k} found"
        return Factor(name="retrieved", holds=True, value=len(numbers), told=told)
    told = f"not among the {asking.k} found"
    rank = asking.rank.rank
    if asking.missed_by_index:
        told += f", though among the {asking.k} nearest: the vector index misses it"
        change = "Measure it with ragctl index recall, or search exactly: ragctl index drop."
        return _zero("retrieved", told, change)
    change = "Ask in the words of the page"
    if not asking.tracks and evidence.stored is not None:
        change += f", or only its track: --track {evidence.stored.page.track}"
    if rank is not None and asking.k < rank <= _HELPFUL_K:
        change += f", or take more passages: -k {rank}"
    return _zero("retrieved", told, f"{change}.")


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
