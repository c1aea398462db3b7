"""Headings, fences and tables of a text: a line scanner that knows lists and quotes.

It follows the CommonMark rules of containers and of HTML blocks as far as these three need them;
lazy continuation lines are left out. Where a parser took a tag out of a text, what stood in the
tag's HTML block is read as markdown here.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r"(`{3,})([^`]*)$|(~{3,})(.*)$")
_ITEM = re.compile(r"([-+*]|(\d{1,9})[.)])( +|$)")
_RULE = re.compile(r"(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$")
_DELIMITER = re.compile(r"\|? *:?-+:? *(?:\| *:?-+:? *)*\|?$")
_CELL_END = re.compile(r"(?<!\\)\|")
_RAW_BLOCK = re.compile(r"<(?:(!--)|(script|pre|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_TAG_BLOCK = re.compile(
    r"</?(?:address|article|aside|blockquote|body|center|col|colgroup|dd|details|dialog|dir|div|dl"
    r"|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|iframe|legend|li|link"
    r"|main|menu|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td"
    r"|tfoot|th|thead|title|tr|track|ul)(?:[\s>]|/>|$)",
    re.IGNORECASE,
)
_LONE_TAG = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>$")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\((?:[^()]|\([^()]*\))*\)|\[[^\[\]]*\])")
_LABEL_MAX = 1_000
_LEAD = re.compile(r"(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))*[ \t]*")
_QUOTE_LEAD = re.compile(r"(?:[ \t]*>)*[ \t]*")


@dataclass(frozen=True, slots=True)
class HeadingMark:
    """A heading: its line as two offsets, its level, its text as written and as it is shown."""

    start: int
    end: int
    level: int
    written: str
    shown: str


@dataclass(slots=True)
class FenceMark:
    """A fence: where its marks begin, and where its closing line (or what held it) ends."""

    start: int
    opening: str
    end: int = 0
    is_closed: bool = False


@dataclass(slots=True, eq=False)
class TableMark:
    """A table: its header and delimiter as written, and where each of its rows starts and ends.

    ``start`` and ``end`` are those of the whole.
    """

    start: int
    end: int
    header: str
    delimiter: str
    rows: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Layout:
    """What was found in a text, each kind in order.

    ``look_alikes`` are lines that would be fences elsewhere and are none where they stand.
    """

    text: str
    lines: list[str]
    starts: list[int]
    headings: list[HeadingMark] = field(default_factory=list)
    fences: list[FenceMark] = field(default_factory=list)
    tables: list[TableMark] = field(default_factory=list)
    tables_by_row: dict[str, list[TableMark]] = field(default_factory=dict)
    look_alikes: set[str] = field(default_factory=set)

    def line_at(self, offset: int) -> int:
        """Return the 0-based line of a character."""
        return bisect_right(self.starts, offset) - 1

    def heading_number(self, offset: int) -> int:
        """Return which heading is in force at a character, -1 before the first."""
        return bisect_right(self.headings, offset, key=lambda heading: heading.start) - 1

    def in_fence(self, offset: int) -> bool:
        """Whether a character stands behind the start of a fence and before its end."""
        number = bisect_right(self.fences, offset, key=lambda fence: fence.start) - 1
        if number < 0:
            return False
        fence = self.fences[number]
        return fence.start < offset < fence.end

    def tables_between(self, first: int, last: int) -> Iterator[TableMark]:
        """Yield the tables that stand at or between two characters."""
        number = max(bisect_right(self.tables, first, key=lambda table: table.start) - 1, 0)
        for table in islice(self.tables, number, None):
            if table.start > last:
                return
            if table.end > first:
                yield table


def scan(text: str, *, suffix: str = ".md") -> Layout:
    """Return the layout of a text from a file of this kind: plain text has no structure.

    In MDX, four blanks make no listing.
    """
    lines = text.split("\n")
    starts, offset = [], 0
    for line in lines:
        starts.append(offset)
        offset += len(line) + 1
    layout = Layout(text, lines, starts)
    if suffix == ".txt":
        layout.look_alikes = {line.strip() for line in lines if is_fence(line)}
        return layout
    scanner = _Scanner(layout, indent_max=3 if suffix != ".mdx" else len(text))
    for number in range(len(lines)):
        scanner.take(number)
    scanner.close_fence(len(text), is_closed=False)
    return layout


def open_fence_at_end(lines: list[str], look_alikes: set[str]) -> bool:
    """Whether a fence is open behind the last of ``lines``, a piece of a page.

    Containers begin elsewhere, so indentation tells nothing here; ``look_alikes`` of the whole
    page are no fences.
    """
    opening = ""
    for line in lines:
        if opening:
            rest = line[_end(_QUOTE_LEAD, line) :].rstrip()
            if _closes(rest, opening):
                opening = ""
        elif "```" in line or "~~~" in line:
            match = _FENCE.match(line[_end(_LEAD, line) :].rstrip())
            if match and line.strip() not in look_alikes:
                opening = match[1] or match[3]
    return bool(opening)


def is_fence(line: str) -> bool:
    """Whether a line, without regard to where it stands, opens a fence."""
    return _FENCE.match(line[_end(_LEAD, line) :].rstrip()) is not None


def without_lead(line: str) -> str:
    """Return a line without the marks of quotes and items before its text."""
    return line[_end(_LEAD, line) :].rstrip()


def cells(row: str) -> list[str]:
    """Return the cells of a table row, without the blanks that only fill them."""
    inner = row.strip().removeprefix("|")
    parts = _CELL_END.split(inner)
    if inner.endswith("|") and not inner.endswith("\\|"):
        parts.pop()
    return [" ".join(part.split()) for part in parts]


def is_head_of(table: TableMark, line: str, following: str) -> bool:
    """Whether two lines are a table's header and delimiter; blanks that fill cells may differ."""
    return (
        cells(line) == cells(table.header)
        and _DELIMITER.match(following) is not None
        and _alignments(following) == _alignments(table.delimiter)
    )


def _alignments(delimiter: str) -> list[tuple[bool, bool]]:
    return [(cell.startswith(":"), cell.endswith(":")) for cell in cells(delimiter)]


def _end(pattern: re.Pattern[str], line: str) -> int:
    match = pattern.match(line)
    return match.end() if match else 0


def _closes(rest: str, opening: str) -> bool:
    return rest.startswith(opening) and not rest.strip(opening[0])


class _Scanner:
    """The state between two lines: open containers, fence, table, raw block, paragraph."""

    def __init__(self, layout: Layout, *, indent_max: int) -> None:
        self._layout = layout
        self._indent_max = indent_max
        self._containers: list[int] = []  # width of an item's indent, 0 for a quote
        self._fence: FenceMark | None = None
        self._fence_marks = ""
        self._fence_depth = 0
        self._raw_end = ""  # what ends the HTML block that is open
        self._table: TableMark | None = None
        self._paragraph = ""  # the last line of the paragraph that is open

    def take(self, number: int) -> None:
        """Read one line."""
        line = self._layout.lines[number]
        rest = line.expandtabs(4).rstrip()
        kept = 0
        for width in self._containers:
            inner = _inside(rest, width)
            if inner is None:
                break
            rest, kept = inner, kept + 1
        if self._fence is not None:
            if kept >= self._fence_depth:
                self._inside_fence(number, rest)
                return
            self.close_fence(self._layout.starts[number] - 1, is_closed=False)
        if kept < len(self._containers):
            del self._containers[kept:]
            self._end_block()
        self._outside_fence(number, self._enter(rest))

    def close_fence(self, end: int, *, is_closed: bool) -> None:
        """End the fence that is open, if one is."""
        if self._fence is not None:
            self._fence.end = end if is_closed else end + 1
            self._fence.is_closed = is_closed
            self._fence = None

    def _enter(self, rest: str) -> str:
        """Open the containers that begin on this line and return what stands in them."""
        while not self._raw_end:
            indent = len(rest) - len(rest.lstrip(" "))
            body = rest[indent:]
            if indent > self._indent_max or _RULE.match(body):
                break
            if body.startswith(">"):
                self._containers.append(0)
                self._end_block()
                rest = body[1:].removeprefix(" ")
                continue
            item = _ITEM.match(body)
            if item is None or (
                self._paragraph and (not body[item.end() :] or item[2] not in _ONE)
            ):
                break
            blanks = len(item[3]) if 1 <= len(item[3]) <= 4 and item.end() < len(body) else 1
            width = len(item[1]) + blanks
            self._containers.append(indent + width)
            self._end_block()
            rest = body[width:]
        return rest

    def _end_block(self) -> None:
        self._paragraph = ""
        self._table = None

    def _inside_fence(self, number: int, rest: str) -> None:
        body = rest.lstrip(" ")
        if len(rest) - len(body) <= self._indent_max and _closes(body, self._fence_marks):
            end = self._layout.starts[number] + len(self._layout.lines[number])
            self.close_fence(end, is_closed=True)

    def _outside_fence(self, number: int, rest: str) -> None:
        body = rest.lstrip(" ")
        if self._raw_end:
            if (not body) if self._raw_end == _BLANK else self._raw_end in body.lower():
                self._raw_end = ""
            self._note_look_alike(number)
        elif not body:
            self._end_block()
        elif len(rest) - len(body) > self._indent_max:
            self._note_look_alike(number)
            self._paragraph = self._paragraph and body
            self._table = None
        elif not self._is_block(number, body):
            self._text(number, body)

    def _note_look_alike(self, number: int) -> None:
        line = self._layout.lines[number]
        if is_fence(line):
            self._layout.look_alikes.add(line.strip())

    def _is_block(self, number: int, body: str) -> bool:
        start = self._layout.starts[number]
        line = self._layout.lines[number]
        if fence := _FENCE.match(body):
            self._fence_marks = fence[1] or fence[3]
            self._fence = FenceMark(start + line.find(self._fence_marks), body)
            self._fence_depth = len(self._containers)
            self._layout.fences.append(self._fence)
        elif heading := _HEADING.match(body):
            self._heading(start, start + len(line), len(heading[1]), heading[2] or "")
        elif not _RULE.match(body):
            return False
        self._end_block()
        return True

    def _heading(self, start: int, end: int, level: int, written: str) -> None:
        """Note a heading, unless it shows nothing that could be a label."""
        shown = _LINK.sub(r"\1", _LINK.sub(r"\1", written[:_LABEL_MAX]))
        shown = html.unescape(shown)
        if shown.strip():
            self._layout.headings.append(HeadingMark(start, end, level, written, shown))

    def _starts_raw(self, body: str) -> bool:
        """Whether a line begins an HTML block; notes what ends it, if it goes on."""
        if not body.startswith("<"):
            return False
        raw = _RAW_BLOCK.match(body)
        if raw is not None:
            end = "-->" if raw[1] else f"</{raw[2].lower()}>"
            self._raw_end = "" if end in body[raw.end() :].lower() else end
        elif _TAG_BLOCK.match(body) or (not self._paragraph and _LONE_TAG.match(body)):
            self._raw_end = _BLANK
        else:
            return False
        return True

    def _text(self, number: int, body: str) -> None:
        start = self._layout.starts[number]
        if self._table is not None:
            self._table.end = start + len(self._layout.lines[number])
            self._table.rows.append((start, self._table.end))
            tables = self._layout.tables_by_row.setdefault(body, [])
            if self._table not in tables[-1:]:
                tables.append(self._table)
            return
        if self._starts_raw(body):
            self._end_block()
            return
        if self._is_delimiter(body):
            end = start + len(self._layout.lines[number])
            above = self._layout.starts[number - 1]
            self._table = TableMark(above, end, self._paragraph, body)
            self._layout.tables.append(self._table)
        self._paragraph = body

    def _is_delimiter(self, body: str) -> bool:
        return (
            "|" in body
            and "|" in self._paragraph
            and _DELIMITER.match(body) is not None
            and len(cells(body)) == len(cells(self._paragraph))
        )


_BLANK = "blank line"
_ONE = (None, "1")


def _inside(rest: str, width: int) -> str | None:
    """Return a line without the marks of a container it stands in, ``None`` where it does not."""
    if width:
        return rest[width:] if not rest or rest.startswith(" " * width) else None
    body = rest.lstrip(" ")
    if len(rest) - len(body) > 3 or not body.startswith(">"):
        return None
    return body[1:].removeprefix(" ")
