"""The block structure of a page, from a CommonMark parser: what is code, text, HTML, heading."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from markdown_it.token import Token
    from markdown_it.utils import EnvType

from ragctl.stages.code_spans import code_spans

Kind = Literal["fence", "indented", "html", "text"]
_KINDS: dict[str, Kind] = {
    "fence": "fence",
    "code_block": "indented",
    "html_block": "html",
    "inline": "text",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A leaf block: its lines (0-based, end exclusive) and its characters."""

    kind: Kind
    first_line: int
    end_line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RawHeading:
    """A heading as it stands in the source: ``lines`` include a setext underline."""

    level: int
    first_line: int
    end_line: int
    is_setext: bool
    content: str


@dataclass(slots=True)
class Document:
    """A text with its block structure; every line that is not blank is in exactly one block."""

    text: str
    lines: list[str]
    starts: list[int]
    blocks: list[Block]
    headings: list[RawHeading]
    references: EnvType
    remark: str = ""
    _block_starts: list[int] = field(default_factory=list)
    _spans: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._block_starts = [block.start for block in self.blocks]

    def block_at(self, offset: int) -> Block | None:
        """Return the block that holds a character, ``None`` between blocks."""
        index = bisect_right(self._block_starts, offset) - 1
        if index < 0 or offset >= self.blocks[index].end:
            return None
        return self.blocks[index]

    def line_at(self, offset: int) -> int:
        """Return the 0-based line of a character."""
        return bisect_right(self.starts, offset) - 1

    def line_end(self, line: int) -> int:
        """Return the offset just behind a line's last character."""
        return self.starts[line] + len(self.lines[line])

    def in_code_span(self, offset: int, block: Block) -> bool:
        """Whether a character of a text or HTML block stands between backticks."""
        start, end = block.start, block.end
        if block.kind == "html":  # no paragraph to bound a span: keep to the line
            line = self.line_at(offset)
            start, end = self.starts[line], self.line_end(line)
        if start not in self._spans:
            self._spans[start] = code_spans(self.text, start, end)
        starts, ends = self._spans[start]
        index = bisect_right(starts, offset) - 1
        return index >= 0 and offset < ends[index]

    def is_escaped(self, offset: int) -> bool:
        """Whether an odd number of backslashes stands before a character."""
        before = offset
        while before > 0 and self.text[before - 1] == "\\":
            before -= 1
        return (offset - before) % 2 == 1

    def is_syntax(self, offset: int) -> bool:
        """Whether a character is neither code nor escaped, and so may start markup."""
        block = self.block_at(offset)
        if block is None or block.kind == "fence" or block.kind == "indented":
            return False
        if block.kind == "text" and self.is_escaped(offset):
            return False
        return not self.in_code_span(offset, block)

    def visible(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches of ``pattern`` that start outside code and are not escaped."""
        for match in pattern.finditer(self.text):
            if self.is_syntax(match.start()):
                yield match


def line_starts(lines: list[str]) -> list[int]:
    """Return the offset of each line in the text that ``lines`` make when joined by newlines."""
    return list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))


def _parser(*, indented_code: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser if indented_code else parser.disable("code")


_MARKDOWN = _parser(indented_code=True)
_MDX = _parser(indented_code=False)


def structure(text: str, *, mdx: bool = False) -> Document:
    """Return the block structure of ``text``; where the parser fails, plain lines and a remark."""
    lines = text.split("\n")
    starts = line_starts(lines)
    parser = _MDX if mdx else _MARKDOWN
    references: EnvType = {}
    tokens: list[Token] = []
    remark = ""
    try:
        parser.block.parse(text, parser, references, tokens)
    except Exception as error:  # deep nesting, or a fault in the parser: the text stays
        tokens, remark = [], f"block structure not read ({type(error).__name__})"
    blocks = list(_blocks(tokens, lines, starts))
    return Document(text, lines, starts, blocks, _headings(tokens), references, remark)


def _blocks(tokens: list[Token], lines: list[str], starts: list[int]) -> Iterator[Block]:
    done = 0
    for first, end, kind in _leaves(tokens):
        if first < done:
            first = done
        if first >= end:
            continue
        yield from _single_lines(lines, starts, done, first)
        if kind is None:
            yield from _single_lines(lines, starts, first, end)
        else:
            yield Block(kind, first, end, starts[first], starts[end - 1] + len(lines[end - 1]))
        done = end
    yield from _single_lines(lines, starts, done, len(lines))


def _leaves(tokens: list[Token]) -> Iterator[tuple[int, int, Kind | None]]:
    """Yield the line ranges of leaf blocks; a table is ``None``: each of its rows is a block."""
    in_table = False
    for token in tokens:
        if token.type == "table_open" and token.map:
            in_table = True
            yield token.map[0], token.map[1], None
        elif token.type == "table_close":
            in_table = False
        elif not in_table and token.type in _KINDS and token.map:
            yield token.map[0], token.map[1], _KINDS[token.type]


def _single_lines(lines: list[str], starts: list[int], first: int, end: int) -> Iterator[Block]:
    for line in range(first, end):
        if lines[line].strip():
            yield Block("text", line, line + 1, starts[line], starts[line] + len(lines[line]))


def _headings(tokens: list[Token]) -> list[RawHeading]:
    return [
        RawHeading(
            int(token.tag[1]), token.map[0], token.map[1], token.markup in ("=", "-"), inner.content
        )
        for token, inner in pairwise(tokens)
        if token.type == "heading_open" and token.map
    ]


def visible_label(content: str, references: EnvType) -> tuple[str, str]:
    """Return a heading's text for people and for its anchor: inline markup removed.

    Code spans keep their content, links their text, images their alternative text. Raw HTML that
    is left (``<iface>``) is part of the label, but of no anchor: a site does not show it.
    """
    tokens: list[Token] = []
    try:
        _MARKDOWN.inline.parse(content, _MARKDOWN, references, tokens)
    except Exception:  # deep nesting, or a fault in the parser: the label as written
        return content, content
    label: list[str] = []
    shown: list[str] = []
    stack = list(reversed(tokens))
    while stack:
        token = stack.pop()
        if token.type == "html_inline":
            label.append(token.content)
            continue
        if token.type in ("softbreak", "hardbreak"):
            piece = " "
        elif token.children:
            stack.extend(reversed(token.children))
            continue
        else:
            piece = "" if token.nesting else token.content
        label.append(piece)
        shown.append(piece)
    return "".join(label), "".join(shown)


def index_of(numbers: list[int], number: int) -> int | None:
    """Return where ``number`` stands in a rising list, ``None`` if it does not."""
    index = bisect_left(numbers, number)
    return index if index < len(numbers) and numbers[index] == number else None
