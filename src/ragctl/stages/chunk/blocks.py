"""The leaves of a page's text: paragraphs, listings, tables and the rest, with their nesting.

Every line that is not blank is in exactly one leaf, and leaves are in order, so that whatever is
cut from leaves covers the page. Structure comes from a CommonMark parser; where it finds none
(link definitions, nesting beyond its limit, a fault) runs of lines are paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LeafKind = Literal["heading", "text", "fence", "indented", "html", "table", "rule"]
_KINDS: dict[str, LeafKind] = {
    "fence": "fence",
    "code_block": "indented",
    "html_block": "html",
    "inline": "text",
    "hr": "rule",
    "table_open": "table",
}
_OPENING = {"list_item_open", "blockquote_open"}
_CLOSING = {"list_item_close", "blockquote_close"}
_LEAD = re.compile(r"(?:[ \t]*+(?:(?:[-+*]|\d{1,9}[.)])(?=[ \t])|>))*+[ \t]*+")
_ITEM_MARK = re.compile(r"[-+*]|\d{1,9}[.)]")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A block without blocks in it, as characters of the text, from the start of its first line.

    ``depth`` counts the lists and quotes around it; ``item_depth`` is that of the outermost list
    item that begins with it, 0 for none. A fence has the lines that open and close it in any
    piece (``opening``, ``closing``), the container's marks in front; ``is_closed`` says whether
    its own last line does.
    """

    kind: LeafKind
    start: int
    end: int
    depth: int = 0
    item_depth: int = 0
    opening: str = ""
    closing: str = ""
    is_closed: bool = True


class Lines:
    """A text by its lines, split on ``\\n`` and nothing else."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = list(accumulate((len(line) + 1 for line in self.lines[:-1]), initial=0))

    def end(self, line: int) -> int:
        """Return the place behind a line's last character."""
        return self.starts[line] + len(self.lines[line])


def leaves(text: str, heading_starts: Iterable[int], *, indented_code: bool) -> list[Leaf]:
    """Return the leaves of ``text`` in order.

    ``heading_starts`` are where the page's headings start, which the text alone does not tell;
    ``indented_code`` is false for MDX, where four blanks make no listing.
    """
    lines = Lines(text)
    places = set(heading_starts)
    headings = {line for line, start in enumerate(lines.starts) if start in places}
    result: list[Leaf] = []
    done = 0
    for leaf, first, end in _ranges(lines, indented_code=indented_code):
        first, end = max(first, done), _without_blanks(lines, end)
        if first >= end:
            continue
        result.extend(_plain(lines, done, first, headings))
        if leaf.kind in ("text", "html", "rule") and any(
            line in headings for line in range(first, end)
        ):
            result.extend(_plain(lines, first, end, headings, leaf))
        else:
            result.append(replace(leaf, start=lines.starts[first], end=lines.end(end - 1)))
        done = end
    result.extend(_plain(lines, done, len(lines.lines), headings))
    return result


def _without_blanks(lines: Lines, end: int) -> int:
    while end > 0 and not lines.lines[end - 1].strip():
        end -= 1
    return end


def _plain(
    lines: Lines, first: int, end: int, headings: set[int], pattern: Leaf | None = None
) -> Iterator[Leaf]:
    """Yield runs of lines between blank lines as paragraphs, a heading's line by itself."""
    pattern = pattern or Leaf("text", 0, 0)
    opened: int | None = None
    for line in range(first, end + 1):
        is_heading = line < end and line in headings
        if opened is not None and (line == end or is_heading or not lines.lines[line].strip()):
            yield replace(pattern, start=lines.starts[opened], end=lines.end(line - 1))
            pattern = replace(pattern, item_depth=0)
            opened = None
        if is_heading:
            yield replace(pattern, kind="heading", start=lines.starts[line], end=lines.end(line))
            pattern = replace(pattern, item_depth=0)
        elif opened is None and line < end and lines.lines[line].strip():
            opened = line


@lru_cache(maxsize=2)
def _parser(*, indented_code: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    return parser if indented_code else parser.disable("code")


def _tokens(text: str, *, indented_code: bool) -> list[Token]:
    parser = _parser(indented_code=indented_code)
    tokens: list[Token] = []
    try:
        parser.block.parse(text, parser, {}, tokens)
    except Exception:  # deep nesting, or a fault in the parser: the text is cut all the same
        return []
    return tokens


def _ranges(lines: Lines, *, indented_code: bool) -> Iterator[tuple[Leaf, int, int]]:
    """Yield leaves without their place, and the lines they take, end exclusive."""
    around: list[int] = []  # first lines of the list items now open, -1 for a quote
    in_table = False
    for token in _tokens(lines.text, indented_code=indented_code):
        if token.type in _OPENING:
            is_item = token.type == "list_item_open" and token.map
            around.append(token.map[0] if token.map and is_item else -1)
        elif token.type in _CLOSING:
            around.pop()
        elif token.type == "table_close":
            in_table = False
        elif not in_table and token.map and token.type in _KINDS:
            in_table = token.type == "table_open"
            first, end = token.map
            yield _leaf(lines, token, first, end, around), first, end


def _leaf(lines: Lines, token: Token, first: int, end: int, around: list[int]) -> Leaf:
    leaf = Leaf(_KINDS[token.type], 0, 0, len(around), _starting(around, first))
    if leaf.kind == "fence":
        return _fence(lines, token, leaf, first, end)
    if leaf.kind == "table":
        return replace(leaf, opening=_table_head(lines, first, is_nested=bool(around)))
    return leaf


def _starting(around: list[int], line: int) -> int:
    """Return the depth of the outermost open item that starts on ``line``, 0 for none."""
    items = [first for first in around if first >= 0]
    return items.index(line) + 1 if line in items else 0


def _continued(lead: str) -> str:
    """Return what stands before a block's later lines: quote marks stay, item marks are blanks."""
    return _ITEM_MARK.sub(lambda mark: " " * len(mark[0]), lead)


def _fence(lines: Lines, token: Token, leaf: Leaf, first: int, end: int) -> Leaf:
    written = lines.lines[first]
    place = written.find(token.markup)
    lead = _continued(written[:place])
    content = token.content
    code_lines = content.count("\n") + (content != "" and not content.endswith("\n"))
    return replace(
        leaf,
        opening=lead + written[place:].rstrip(),
        closing=lead + token.markup,
        is_closed=end - first - 1 > code_lines,
    )


def _table_head(lines: Lines, first: int, *, is_nested: bool) -> str:
    """Return header and delimiter row as a piece of the table repeats them."""
    header, delimiter = lines.lines[first].rstrip(), lines.lines[first + 1].rstrip()
    lead = _LEAD.match(header) if is_nested else None
    place = lead.end() if lead else 0
    return f"{_continued(header[:place])}{header[place:]}\n{delimiter}"
