"""What is known of a page and a question: the evidence that the factors are computed from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.errors import ContentError, ModelError
from ragctl.files import Found, find, read
from ragctl.stages.links import address_of

if TYPE_CHECKING:
    from ragctl.protocols import Parser
    from ragctl.records.answers import Answer
    from ragctl.records.pages import Heading, Page
    from ragctl.records.search import Hit, PassageRank, PassageRanks
    from ragctl.records.stored import StoredChunk, StoredPage


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

    ``mode`` is what found the passages: ``keyword`` also where the model was out of reach, which
    ``unreached`` then tells. ``answer`` is ``None`` where no answer was asked for, or where
    ``failure`` was in the way. ``missed_by_index`` says that the best passage is among the k
    nearest and that the approximate index in use does not find it.
    """

    ranks: PassageRanks
    mode: str
    k: int
    tracks: tuple[str, ...]
    hits: tuple[Hit, ...]
    prompt_passages: tuple[Hit, ...]
    answer: Answer | None = None
    failure: ModelError | None = None
    unreached: str = ""
    missed_by_index: bool = False

    @property
    def rank(self) -> PassageRank:
        """The rank that decides what is found."""
        return self.ranks.in_mode(self.mode)


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
    url, fragment = address_of(page, base_url=base_url)
    if re.fullmatch(r"c\d+", fragment):  # the reference of a passage, not an anchor
        fragment = ""
    return Subject(url=url, section=section.strip() or fragment, words=words.strip())


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
        place = place_of(subject.words, stored.text)
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


def place_of(words: str, text: str) -> tuple[int, int] | None:
    match = re.search(r"\s+".join(map(re.escape, words.split())), text, re.IGNORECASE)
    return match.span() if match else None
