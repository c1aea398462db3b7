"""Headings: how they stand in the text that is kept, their labels and their anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragctl.protocols import Slugger, SourceSlugger
from ragctl.records.pages import Heading
from ragctl.stages.parse.blocks import Document, RawHeading, index_of, line_starts, visible_label
from ragctl.stages.parse.edits import Edit

_QUOTED = r"\"[^\"\n]*+\"|'[^'\n]*+'"
_ITEM = rf"(?:[#.][^\s{{}}\"'=]++|[\w:-]++=(?:{_QUOTED}|[^\s{{}}\"']++))"
_ATTRIBUTES = re.compile(rf"[ \t]*\{{:?[ \t]*+({_ITEM}(?:[ \t]++{_ITEM})*+)[ \t]*+\}}[ \t]*\Z")
_IDENTIFIER = re.compile(rf"(?:^|[ \t])#([^\s{{}}\"'=]++)|(?:^|[ \t])id=({_QUOTED}|[^\s\"']++)")
_MDX_IDENTIFIER = re.compile(r"[ \t]*\{/\*[ \t]*#([^\s*]+)[ \t]*\*/\}[ \t]*\Z")
_KRAMDOWN = re.compile(r"[ \t]*\{:[ \t]*([^{}\n]*)\}[ \t]*\Z")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t]+)#+[ \t]*\Z")
_SPECIAL = re.compile(r"[\\`*_\[\]<&!~]")
_LABEL_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class HeadingPlace:
    """A heading before the edits: its source line, its content as written without marks and
    attribute block, and the anchor its author gave it, if any.
    """

    level: int
    number: int
    source: str
    explicit: str


def heading_edits(document: Document, numbers: list[int]) -> tuple[list[Edit], list[HeadingPlace]]:
    """Return the edits that give every heading the one form ``## Label``, and where they are.

    Setext headings become ATX headings, two label lines one; attribute blocks go.
    """
    edits: list[Edit] = []
    places: list[HeadingPlace] = []
    for raw in document.headings:
        if raw.is_setext:
            edits.extend(_setext_edits(document, raw))
        explicit = ""
        attributes = _attribute_block(document, raw)
        if attributes is not None:
            edit, explicit = attributes
            edits.append(edit)
        explicit = explicit or _kramdown_identifier(document, raw)
        source = _without_block(raw.content)
        places.append(HeadingPlace(raw.level, numbers[raw.first_line], source, explicit))
    return edits, places


def _setext_edits(document: Document, raw: RawHeading) -> Iterator[Edit]:
    underline = raw.end_line - 1
    contents = raw.content.split("\n")
    contents += [""] * (underline - raw.first_line - len(contents))
    previous_end = 0
    for offset, line in enumerate(range(raw.first_line, underline)):
        written = document.lines[line]
        content = contents[offset].strip()
        column = len(written.rstrip()) - len(content)
        if column < 0 or not written.rstrip().endswith(content):
            column = len(written) - len(written.lstrip())
        start = document.starts[line] + column
        if offset == 0:
            yield Edit(start, start, "#" * raw.level + " ", "underline")
        else:
            yield Edit(previous_end, start, " ", "underline", joins=True)
        previous_end = document.starts[line] + len(written.rstrip())
    yield Edit(document.line_end(underline - 1), document.line_end(underline), kind="underline")


def _attribute_block(document: Document, raw: RawHeading) -> tuple[Edit, str] | None:
    """Return the edit that removes a trailing attribute block, and the identifier in it.

    A block without an identifier is ordinary text (``{a, b}``, ``{.wide}``) unless it holds
    nothing but quoted values, which no prose looks like.
    """
    content = raw.content[-_LABEL_CHARACTERS_MAX:]
    if not content.endswith("}"):
        return None
    match = _MDX_IDENTIFIER.search(content)
    explicit = match[1] if match else ""
    if match is None:
        match = _last_block(content)
        if match is None:
            return None
        found = _IDENTIFIER.search(re.sub(_QUOTED, _blank_unless_identifier, match[1]))
        explicit = (found[1] or found[2].strip("\"'")) if found else ""
        if not explicit and not re.search(r"=[\"']", match[1]):
            return None
    line = raw.end_line - 2 if raw.is_setext else raw.first_line
    place = document.lines[line].rfind(match[0].strip())
    if place < 0:
        return None
    start = document.starts[line] + place
    end = start + len(match[0].strip())
    while start > document.starts[line] and document.text[start - 1] in " \t":
        start -= 1
    return Edit(start, end, kind="shortcode"), explicit


def _without_block(content: str) -> str:
    match = _last_block(content[-_LABEL_CHARACTERS_MAX:]) if content.endswith("}") else None
    return content if match is None else content.removesuffix(match[0]).rstrip()


def _last_block(content: str) -> re.Match[str] | None:
    """Find the attribute block at the end: the last brace whose rest is one, quotes and all."""
    brace = len(content)
    for _ in range(8):
        brace = content.rfind("{", 0, brace)
        if brace < 0:
            return None
        match = _ATTRIBUTES.match(content, brace)
        if match is not None:
            return match
    return None


def _blank_unless_identifier(match: re.Match[str]) -> str:
    return match[0] if match.string[: match.start()].endswith("id=") else '""'


def _kramdown_identifier(document: Document, raw: RawHeading) -> str:
    if raw.end_line >= len(document.lines):
        return ""
    match = _KRAMDOWN.match(document.lines[raw.end_line])
    found = _IDENTIFIER.search(match[1].strip()) if match else None
    return (found[1] or found[2].strip("\"'")) if found else ""


def read_headings(
    lines: list[str],
    numbers: list[int],
    places: list[HeadingPlace],
    document: Document,
    slugger: Slugger,
) -> tuple[list[Heading], list[tuple[int, str]]]:
    """Return the headings of the finished text, and remarks as (source line, sentence).

    Anchors follow the slugger's rules over all headings of the page in order; an identifier that
    the author wrote is taken as it is, unless an earlier heading has it already.
    """
    starts = line_starts(lines)
    headings: list[Heading] = []
    remarks: list[tuple[int, str]] = []
    for place in places:
        index = index_of(numbers, place.number)
        if index is None:
            continue
        label, shown = _label(lines[index], document)
        anchor = place.explicit
        if not anchor or not slugger.take(anchor):
            if anchor:
                remarks.append((place.number, f"anchor #{anchor} is used by an earlier heading"))
            anchor = _made_anchor(slugger, shown, place.source)
        if label:
            headings.append(
                Heading(
                    label=label,
                    level=place.level,
                    anchor=anchor,
                    start_char=starts[index],
                    line=place.number,
                )
            )
    return headings, remarks


def _made_anchor(slugger: Slugger, shown: str, source: str) -> str:
    if isinstance(slugger, SourceSlugger):
        return slugger.slug_source(shown, source[:_LABEL_CHARACTERS_MAX])
    return slugger.slug(shown)


def _label(line: str, document: Document) -> tuple[str, str]:
    """Return a heading line's label for people, and the text its anchor is made from."""
    content = line[max(line.find("#"), 0) :].lstrip("#").strip(" \t")
    content = _CLOSING_MARKS.sub("", content[:_LABEL_CHARACTERS_MAX]).strip()
    if not _SPECIAL.search(content):
        return " ".join(content.split()), content
    label, shown = visible_label(content, document.references)
    return " ".join(label.split()), shown.strip()
