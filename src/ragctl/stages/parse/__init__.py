"""Stage 1, parse: the bytes of a file become a page whose every line can be traced to its source.

What a reader of the site never sees goes: front matter, SVG, comments, scripts, known tags,
components, shortcodes, embedded pictures. Everything else stays to the byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ragctl.records.pages import Heading, Page, SourceFile
from ragctl.stages.parse.blocks import Document, structure
from ragctl.stages.parse.decoding import decode
from ragctl.stages.parse.edits import apply_edits, merged, without_overlaps
from ragctl.stages.parse.front_matter import read_front_matter
from ragctl.stages.parse.headings import heading_edits, read_headings
from ragctl.stages.parse.markup import markup_edits
from ragctl.stages.parse.opaque import opaque_edits
from ragctl.stages.parse.order import reading_order, stem_of
from ragctl.stages.parse.pdf import parse_pdf
from ragctl.stages.parse.slugs import GitHubSlugger, slug

if TYPE_CHECKING:
    from ragctl.protocols import Slugger

__all__ = ["GitHubSlugger", "MarkdownParser", "parse", "slug"]

RULES_VERSION = 2
"""Goes up when the same bytes give another page: stored pages are then parsed anew."""

_OPAQUE_ROUNDS_MAX = 4


class MarkdownParser:
    """Parses with the anchors of one kind of site; a :class:`~ragctl.protocols.Parser`."""

    def __init__(self, *, slugs: str = "github", slugger: Callable[[], Slugger] = GitHubSlugger):
        self._slugger = slugger
        self.signature = f"{RULES_VERSION}/{slugs}"

    def parse(self, source: SourceFile, data: bytes) -> Page:
        """Return the page of a file; see :func:`parse` and :func:`~.pdf.parse_pdf`."""
        if source.path.lower().endswith(".pdf"):
            return parse_pdf(source, data)
        return parse(source, data, slugger=self._slugger)


def parse(
    source: SourceFile, data: bytes, *, slugger: Callable[[], Slugger] = GitHubSlugger
) -> Page:
    """Return the page that a file holds; whatever the bytes are, nothing is raised.

    ``slugger`` makes what hands out the anchors of one page. What had to be repaired or guessed
    is in ``warnings``, each with path and, where it is known, line. Every line of the file is in
    ``source_lines`` or in a removal. A ``.txt`` file is taken as it is, without markup or
    headings.
    """
    text, repairs = decode(data)
    lines = text.removesuffix("\n").split("\n")
    front = read_front_matter(lines)
    reading = _Reading(lines, front.lines, source.path.lower(), slugger())
    if front.lines:
        reading.removed.extend((number, "front_matter") for number in range(1, front.lines + 1))
    headings = reading.run()
    return Page(
        url=source.url,
        track=source.track,
        title=front.title or _first_title(headings) or stem_of(source.path),
        source_path=source.path,
        sha256=hashlib.sha256(data).hexdigest(),
        text="\n".join(reading.lines),
        front_matter=front.values,
        is_landing=source.is_landing,
        is_draft=_is_draft(front.values),
        order=reading_order(source.path, front.values),
        headings=tuple(headings),
        source_lines=tuple(reading.numbers),
        removals=merged(reading.removed),
        warnings=(
            *(f"{source.path}: {remark}" for remark in repairs),
            *(
                f"{source.path}:{number}: {remark}"
                for number, remark in (*front.remarks, *reading.remarks)
            ),
        ),
        size_bytes=source.size_bytes,
        mtime_ns=source.mtime_ns,
    )


class _Reading:
    """The lines of one page on their way: what is left, where from, and what went."""

    def __init__(self, lines: list[str], skipped: int, path: str, slugger: Slugger) -> None:
        self._slugger = slugger
        self.lines = lines[skipped:]
        self.numbers = list(range(skipped + 1, len(lines) + 1))
        self.removed: list[tuple[int, str]] = []
        self.remarks: list[tuple[int, str]] = []
        self._is_mdx = path.endswith(".mdx")
        self._is_plain = path.endswith(".txt")

    def run(self) -> list[Heading]:
        """Take everything out that goes, and return the headings of what is left."""
        if self._is_plain:
            self._trim()
            return []
        document = self._without_opaque()
        has_module_code = any(kind == "jsx" for _, kind in self.removed)
        edits, places = heading_edits(document, self.numbers)
        edits += markup_edits(document, jsx=self._is_mdx or has_module_code)
        if document.remark:
            self.remarks.append((self.numbers[0], document.remark))
        if edits:
            edited = apply_edits(document.text, self.numbers, without_overlaps(edits))
            self.lines, self.numbers = edited.lines, edited.numbers
            self.removed.extend(edited.removed)
        self._trim()
        headings, remarks = read_headings(self.lines, self.numbers, places, document, self._slugger)
        self.remarks.extend(remarks)
        return headings

    def _without_opaque(self) -> Document:
        """Remove what hides structure until there is none of it; return the structure then."""
        document = structure("\n".join(self.lines), mdx=self._is_mdx)
        for _ in range(_OPAQUE_ROUNDS_MAX):
            edits, remarks = opaque_edits(document, mdx=self._is_mdx)
            if not edits:
                break
            self.remarks.extend((self.numbers[line], remark) for line, remark in remarks)
            edited = apply_edits(document.text, self.numbers, without_overlaps(edits))
            self.lines, self.numbers = edited.lines or [""], edited.numbers or [1]
            self.removed.extend(edited.removed)
            document = structure("\n".join(self.lines), mdx=self._is_mdx)
        return document

    def _trim(self) -> None:
        """Drop blank lines at both ends; a file without text has no lines at all."""
        first, end = 0, len(self.lines)
        while first < end and not self.lines[first].strip():
            first += 1
        while end > first and not self.lines[end - 1].strip():
            end -= 1
        self.removed.extend(
            (number, "blank") for number in [*self.numbers[:first], *self.numbers[end:]]
        )
        self.lines, self.numbers = self.lines[first:end], self.numbers[first:end]


def _first_title(headings: list[Heading]) -> str:
    return next((heading.label for heading in headings if heading.level == 1), "")


def _is_draft(values: Mapping[str, object]) -> bool:
    lowered = {key.casefold(): value for key, value in values.items()}
    return _says(lowered.get("draft"), "true") or _says(lowered.get("published"), "false")


def _says(value: object, wanted: str) -> bool:
    return isinstance(value, bool | str) and str(value).strip().casefold() == wanted
