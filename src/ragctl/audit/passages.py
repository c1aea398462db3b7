"""What is wrong with the stored passages of a page, by class."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ragctl.audit.layout import (
    HeadingMark,
    Layout,
    TableMark,
    is_fence,
    is_head_of,
    open_fence_at_end,
    scan,
    without_lead,
)
from ragctl.audit.removals import missing_lines, source_lines_of

if TYPE_CHECKING:
    from ragctl.records.chunks import Chunk
    from ragctl.records.stored import PageText

LONGEST = 1.25
"""How many times the size of the settings a passage may be long: a heading or an introduction
stays with the first lines behind it, and fences and table headers are repeated."""
SHORTEST = 0.1
"""What share of the size a passage must at least have, unless it is all of its sections."""
SMALL_SECTION = 0.25
"""What share of the size makes sections so small that they may share a passage and a label."""

CLASSES = {
    "open_fences": "fences left open, or closed without being opened",
    "headless_rows": "table rows without header and delimiter row",
    "parted_headings": "headings parted from their text",
    "over_size": "passages over size",
    "under_size": "passages under size that are not all of their section",
    "lost_lines": "source lines in no passage and no counted removal",
    "wrong_labels": "labels that differ from the heading in force",
    "duplicate_refs": "references that two passages have",
    "duplicate_anchors": "anchors that two headings of a page have",
    "broken_refs": "references that do not invert",
}
"""The classes of findings in the order they are shown, and what each means."""

_BEGINNING = 120
_SHOWN_MAX = 60
_VISIBLE = re.compile(r"\S")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault: its class, where it is (a reference, a page or file and line), and what is so."""

    kind: str
    place: str
    why: str


@dataclass(slots=True, kw_only=True)
class PageAudit:
    """What one page gave; ``removed`` counts source lines left out for a reason, by class.

    Landing pages without passages are left out as a whole.
    ``source`` says whether the page's file could be compared: ``compared``, ``missing`` or
    ``changed``.
    """

    findings: list[Finding] = field(default_factory=list)
    removed: Counter[str] = field(default_factory=Counter)
    source: str = "missing"


def audit_page(
    page: PageText, passages: Sequence[Chunk], *, source: bytes | None, size: int
) -> PageAudit:
    """Examine the passages of one page.

    ``source`` are the bytes of its file now, ``None`` where there is none; they are compared only
    if they are what was ingested. ``size`` is the longest passage wanted, in characters.
    """
    audit = PageAudit()
    layout = scan(page.text, suffix=PurePosixPath(page.source_path).suffix.lower())
    for passage in passages:
        view = _View.of(layout, passage)
        audit.findings.extend(_refs(page, layout, passage, view))
        if view is not None:
            audit.findings.extend(_shape(layout, view, size=size))
            audit.findings.extend(_label(layout, view, size=size))
    audit.findings.extend(_duplicate_refs(passages))
    audit.findings.extend(_duplicate_anchors(layout, page, passages))
    if passages or not page.is_landing:
        audit.findings.extend(_uncovered(page, layout, passages))
    else:
        audit.removed["landing_page"] += sum(1 for line in layout.lines if line.strip())
    if source is not None:
        is_same = hashlib.sha256(source).hexdigest() == page.sha256
        audit.source = "compared" if is_same else "changed"
        if is_same:
            _compare_source(page, source, audit)
    return audit


@dataclass(frozen=True, slots=True)
class _View:
    """A passage and its slice of the text, without blank lines around it.

    ``first`` and ``last`` are where its visible characters are in the text; ``place`` is where
    the slice begins in the body, -1 where it is not there.
    """

    passage: Chunk
    slice: str
    first: int
    last: int
    place: int

    @classmethod
    def of(cls, layout: Layout, passage: Chunk) -> _View | None:
        """Return the view of a passage, ``None`` where its bounds hold no text."""
        start, end = passage.start_char, passage.end_char
        if not 0 <= start < end <= len(layout.text):
            return None
        piece = layout.text[start:end]
        if not piece.strip():
            return None
        first = start + len(piece) - len(piece.lstrip())
        last = start + len(piece.rstrip()) - 1
        begin = max(start, layout.starts[layout.line_at(first)])
        piece = layout.text[begin : last + 1]
        place = 0 if passage.body.startswith(piece) else passage.body.rfind(piece)
        if place < 0:
            place = passage.body.find(piece.split("\n", 1)[0][:_BEGINNING])
        return cls(passage, piece, first, last, place)


def _refs(page: PageText, layout: Layout, passage: Chunk, view: _View | None) -> Iterator[Finding]:
    def finding(why: str) -> Finding:
        return Finding(kind="broken_refs", place=passage.ref, why=why)

    if passage.ref != f"{page.url}#c{passage.start_char}":
        yield finding(f"does not name its page and place, {page.url}#c{passage.start_char}")
    elif view is None:
        yield finding(f"no text between {passage.start_char} and {passage.end_char}")
    else:
        slice_ = page.text[passage.start_char : passage.end_char]
        if not passage.body.startswith(slice_):
            before = passage.body[: view.place].rstrip("\n") if view.place >= 0 else None
            is_whole = view.place >= 0 and passage.body[view.place :].startswith(view.slice)
            if before is None or not is_whole:
                yield finding("its slice of the page is not in the body")
            elif not _only_repeats(before, layout, view):
                yield finding("the body begins with text from elsewhere")


def _only_repeats(before: str, layout: Layout, view: _View) -> bool:
    """Whether what stands before the slice is a fence's or table's head and nothing else.

    A row that was cut goes on behind bars alone.
    """
    lines = [without_lead(line) for line in before.split("\n") if line.strip(" \t|")]
    tables = list(layout.tables_between(view.first, view.first))
    if any(is_head_of(table, *pair) for pair in pairwise(lines) for table in tables):
        lines = [line for line in lines if "|" not in line]
    return all(is_fence(line) and line in layout.text for line in lines)


def _shape(layout: Layout, view: _View, *, size: int) -> Iterator[Finding]:
    passage = view.passage
    checks = (
        ("open_fences", _fence_fault(layout, view)),
        ("headless_rows", _table_fault(layout, view)),
        ("parted_headings", _heading_fault(layout, view)),
        ("over_size", _over(passage, size)),
        ("under_size", _under(layout, view, size)),
    )
    for kind, why in checks:
        if why:
            yield Finding(kind=kind, place=passage.ref, why=why)


def _fence_fault(layout: Layout, view: _View) -> str:
    body = view.passage.body
    if open_fence_at_end(body.split("\n"), layout.look_alikes):
        return "a fence is open at its end"
    if view.place >= 0:
        head = body[: view.place].split("\n")[:-1]
        is_open = open_fence_at_end(head, layout.look_alikes)
        if is_open != layout.in_fence(view.first):
            return "begins with text in a fence" if is_open else "begins inside a listing, unfenced"
    return ""


def _table_fault(layout: Layout, view: _View) -> str:
    lines = [without_lead(line) for line in view.passage.body.split("\n")]
    for table in layout.tables_between(view.first, view.last):
        number = bisect_right(table.rows, view.first, key=lambda bounds: bounds[1])
        has_rows = number < len(table.rows) and table.rows[number][0] <= view.last
        if has_rows and not _has_head(lines, table):
            return f"rows without {_shown(table.header)}"
    return _carried_rows(layout, view, lines)


def _has_head(lines: Sequence[str], table: TableMark) -> bool:
    return any(
        "|" in line and is_head_of(table, line, following) for line, following in pairwise(lines)
    )


def _carried_rows(layout: Layout, view: _View, lines: Sequence[str]) -> str:
    """Look at what the body holds before its slice: rows of a table carried over without it."""
    for line in view.passage.body[: max(view.place, 0)].split("\n"):
        tables = layout.tables_by_row.get(without_lead(line), ())
        if tables and not any(_has_head(lines, table) for table in tables):
            return f"rows without {_shown(tables[0].header)}"
    return ""


def _shown(text: str) -> str:
    short = " ".join(text.split())
    return repr(short if len(short) <= _SHOWN_MAX else short[:_SHOWN_MAX] + "…")


def _heading_fault(layout: Layout, view: _View) -> str:
    number = layout.heading_number(view.last)
    if number < 0 or layout.headings[number].end <= view.last:
        return ""
    heading = layout.headings[number]
    text = _VISIBLE.search(layout.text, heading.end)
    if text is None:
        return ""
    following = layout.headings[number + 1] if number + 1 < len(layout.headings) else None
    if following and following.start <= text.start() and following.level <= heading.level:
        return ""
    return f"ends with the heading {_shown(heading.written)}, its text is elsewhere"


def _over(passage: Chunk, size: int) -> str:
    longest = int(size * LONGEST)
    length = len(passage.body)
    return f"{length} characters, more than {longest}" if length > longest else ""


def _under(layout: Layout, view: _View, size: int) -> str:
    shortest = int(size * SHORTEST)
    if len(view.slice) >= shortest:
        return ""
    start, end = _sections(layout, view)
    rest = layout.text[start : view.first] + layout.text[view.last + 1 : end]
    return f"{len(view.slice)} characters, fewer than {shortest}" if rest.strip() else ""


def _sections(layout: Layout, view: _View) -> tuple[int, int]:
    """Return the bounds of the sections that a passage touches, subsections apart."""
    first = layout.heading_number(view.first)
    following = layout.heading_number(view.last) + 1
    start = layout.headings[first].start if first >= 0 else 0
    end = len(layout.text)
    if following < len(layout.headings):
        end = layout.headings[following].start
    return start, end


def _label(layout: Layout, view: _View, *, size: int) -> Iterator[Finding]:
    passage = view.passage
    number = _named_heading(layout, view)
    heading = layout.headings[number] if number >= 0 else None
    if not _names(passage.section, heading):
        in_force = heading.written if heading else None
        why = f"{passage.section!r} where {in_force!r} is in force"
    else:
        why = _mostly_elsewhere(layout, view, number, size=size)
    if why:
        yield Finding(kind="wrong_labels", place=passage.ref, why=why)


def _named_heading(layout: Layout, view: _View) -> int:
    """Return the heading that a passage may be labelled with, -1 for none.

    That is the one in force where it begins; where it begins with a heading that has no text of
    its own, the label may be of the heading below that one.
    """
    in_force = number = layout.heading_number(view.first)
    following = number + 1
    while (
        number >= 0
        and layout.headings[number].start >= view.first
        and following < len(layout.headings)
        and layout.headings[following].start <= view.last
        and layout.headings[following].level > layout.headings[number].level
        and not layout.text[layout.headings[number].end : layout.headings[following].start].strip()
    ):
        number, following = following, following + 1
        if _names(view.passage.section, layout.headings[number]):
            return number
    return in_force


def _mostly_elsewhere(layout: Layout, view: _View, number: int, *, size: int) -> str:
    """Say so where most of a passage stands under headings that its label does not cover.

    A label covers the subsections of its heading. Small sections may share a passage.
    """
    following = number + 1
    level = layout.headings[number].level if number >= 0 else 7
    while following < len(layout.headings) and layout.headings[following].level > level:
        following += 1
    if following == len(layout.headings) or layout.headings[following].start > view.last:
        return ""
    other = layout.headings[following]
    own, foreign = other.start - view.first, view.last + 1 - other.start
    if foreign <= own or len(view.slice) < size * SMALL_SECTION * 2:
        return ""
    return (
        f"{view.passage.section!r}, yet most of it stands under {_shown(other.written)} and after"
    )


def _names(section: str | None, heading: HeadingMark | None) -> bool:
    if section is None or heading is None:
        return section is None and heading is None
    return _letters(section) in (_letters(heading.written), _letters(heading.shown))


def _letters(text: str) -> str:
    kept = "".join(character for character in text.casefold() if character.isalnum())
    return kept or "".join(text.split())


def _duplicate_refs(passages: Sequence[Chunk]) -> Iterator[Finding]:
    for ref, count in Counter(passage.ref for passage in passages).items():
        if count > 1:
            yield Finding(kind="duplicate_refs", place=ref, why=f"{count} passages have it")


def _duplicate_anchors(
    layout: Layout, page: PageText, passages: Sequence[Chunk]
) -> Iterator[Finding]:
    headings: dict[str, set[int]] = {}
    for passage in passages:
        view = _View.of(layout, passage) if passage.anchor else None
        if view is not None and passage.anchor:
            number = _named_heading(layout, view)
            if number >= 0 and _names(passage.section, layout.headings[number]):
                headings.setdefault(passage.anchor, set()).add(number)
    for anchor, numbers in headings.items():
        if len(numbers) > 1:
            names = ", ".join(repr(layout.headings[number].written) for number in sorted(numbers))
            place = f"{page.url}#{anchor}"
            yield Finding(kind="duplicate_anchors", place=place, why=f"headings {names}")


def _uncovered(page: PageText, layout: Layout, passages: Sequence[Chunk]) -> Iterator[Finding]:
    if page.text and len(page.source_lines) != len(layout.lines):
        yield Finding(
            kind="lost_lines",
            place=page.url,
            why=f"{len(layout.lines)} lines of text, {len(page.source_lines)} traced to the source",
        )
    done, last_line = 0, -1
    bounds = sorted((passage.start_char, passage.end_char) for passage in passages)
    for start, end in (*bounds, (len(page.text), len(page.text))):
        for line in _lines_with_text(layout, done, start):
            if line > last_line:
                yield _lost(page, line, "in no passage")
                last_line = line
        done = max(done, end)


def _lines_with_text(layout: Layout, start: int, end: int) -> Iterator[int]:
    """Yield the lines that have visible characters between two places."""
    place = start
    while place < end:
        line = layout.line_at(place)
        line_end = layout.starts[line] + len(layout.lines[line])
        if layout.text[place : min(end, line_end)].strip():
            yield line
        place = line_end + 1


def _lost(page: PageText, line: int, why: str) -> Finding:
    number = page.source_lines[line] if line < len(page.source_lines) else 0
    return Finding(kind="lost_lines", place=f"{page.source_path}:{number}", why=why)


def _compare_source(page: PageText, source: bytes, audit: PageAudit) -> None:
    lines = source_lines_of(source)
    for number, reason in missing_lines(lines, page.source_lines):
        if reason:
            audit.removed[reason] += 1
            continue
        shown = _shown(lines[number - 1])
        place = f"{page.source_path}:{number}"
        audit.findings.append(
            Finding(kind="lost_lines", place=place, why=f"not in the page's text: {shown}")
        )
