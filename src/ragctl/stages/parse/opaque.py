"""Pieces that are no text at all, whatever lines they span: SVG, comments, scripts, module code.

They are found first, because their inner lines may look like code or headings to a markdown
parser; once they are gone the structure is read again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragctl.stages.parse.edits import Edit

if TYPE_CHECKING:
    from ragctl.stages.parse.blocks import Document

# A tag that is not over before a blank line, a heading or an item of a list is none.
_IN_TAG = r"(?:[^<>\n]|\n(?![ \t]*(?:\n|#{1,6}[ \t]|[-*+][ \t]|\d+[.)][ \t])))*+"
_SVG = re.compile(rf"<(?i:(/?)svg)(?![\w.-])({_IN_TAG})>")
_COMMENT_END = re.compile(r"-->")
# What an SVG that is never closed may still take along: tags, and short text inside them.
_TAGS = re.compile(r"(?:\s*+</?[A-Za-z](?:[^<>\n]|\n(?![ \t]*\n))*+>(?:[^<>\n]{1,200}+(?=</))?+)*+")
_RAW = re.compile(rf"<(?i:(script|style))(?![\w.-]){_IN_TAG}>")
_RAW_END = re.compile(r"</(?i:(script|style))\s*+>")
_LIQUID_COMMENT = re.compile(r"\{%-?\s*+(end)?comment\s*+-?%\}")
_MDX_COMMENT = re.compile(r"\{/\*")
_MDX_COMMENT_END = re.compile(r"\*/\s*+\}")
_LISTING = re.compile(
    r"^[ \t]*+\{(?:%-?[ \t]*+highlight|\{[<%][ \t]*+highlight)(?:[ \t]++([\w+#.-]++))?"
    r"[^\n%>}]*+(?:-?%|[>%]\})\}[ \t]*+$",
    re.MULTILINE,
)
_LISTING_END = re.compile(
    r"^[ \t]*+\{(?:%-?[ \t]*+endhighlight[ \t]*+-?%|\{[<%][ \t]*+/highlight[ \t]*+[>%]\})\}"
    r"[ \t]*+$",
    re.MULTILINE,
)
_INDENTED_BLOCK = re.compile(
    r"^(?:!!!|\?\?\?\+?|===[!+]?)(?:[ \t]++[\w -]+?)?(?:[ \t]++\"([^\"\n]*+)\")?[ \t]*+$",
    re.MULTILINE,
)
_INDENT = "    "
_PARAGRAPH_END = re.compile(r"\n[ \t]*+(?=\n)")
_FENCE = re.compile(r"`{3,}")

_IMPORT = re.compile(
    r"import\s++(?:[\w$*{},\s]+?(?<=[\s}])from\s*+)?(?:\"[^\"\n]++\"|'[^'\n]++')\s*+;?\s*+\Z"
)
_EXPORT = re.compile(
    r"export\s*+(?:[{*]|(?:const|let|var|function|class|default|async|type|interface|enum)(?!\w))"
)
_STATEMENT_LINES_MAX = 500
_STATEMENT_CHARACTERS_MAX = 20_000


class _Ends:
    """Where a closing mark stands next, for any position, from one pass over the text."""

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        self._spans = [match.span() for match in pattern.finditer(text)]

    def after(self, offset: int) -> int | None:
        index = bisect_left(self._spans, (offset, offset))
        return self._spans[index][1] if index < len(self._spans) else None


def opaque_edits(document: Document, *, mdx: bool) -> tuple[list[Edit], list[tuple[int, str]]]:
    """Return what to take out before anything else, and remarks as (0-based line, sentence)."""
    text = document.text
    edits: list[Edit] = []
    remarks: list[tuple[int, str]] = []
    if "<" in text:
        _svg(document, edits, remarks)
        _comments(document, edits, remarks)
        _raw_elements(document, edits, remarks)
    if "{%" in text or "{{" in text:
        edits.extend(_liquid_comments(document))
        edits.extend(_listings(document))
    if mdx and "{/*" in text:
        edits.extend(_mdx_comments(document))
    if "!!! " in text or "??? " in text or '=== "' in text:
        edits.extend(_indented_blocks(document))
    edits.extend(_module_code(document, mdx=mdx))
    return edits, remarks


def _svg(document: Document, edits: list[Edit], remarks: list[tuple[int, str]]) -> None:
    open_tags: list[re.Match[str]] = []
    for match in _SVG.finditer(document.text):
        block = document.block_at(match.start())
        if block is None or block.kind == "fence":
            continue
        if block.kind == "indented" and not open_tags:
            continue
        if block.kind != "indented" and not document.is_syntax(match.start()):
            continue
        if match[1]:
            if open_tags:
                edits.append(Edit(open_tags.pop().start(), match.end(), kind="svg"))
        elif match[2].endswith("/"):
            edits.append(Edit(*match.span(), kind="svg"))
        else:
            open_tags.append(match)
    done = 0
    for match in open_tags:
        if match.start() < done:
            continue
        rest = _TAGS.match(document.text, match.end())
        done = rest.end() if rest else match.end()
        edits.append(Edit(match.start(), done, kind="svg"))
        line = document.line_at(match.start())
        remarks.append((line, "<svg> is never closed: only the tags that follow it were removed"))


def _comments(document: Document, edits: list[Edit], remarks: list[tuple[int, str]]) -> None:
    text = document.text
    ends: _Ends | None = None
    paragraphs: _Ends | None = None
    done = 0
    start = text.find("<!--")
    while start >= 0:
        if start >= done and document.is_syntax(start):
            block = document.block_at(start)
            ends = ends or _Ends(text, _COMMENT_END)
            end = ends.after(start + 2)
            if block is not None and block.kind == "html" and end is None:
                paragraphs = paragraphs or _Ends(text, _PARAGRAPH_END)
                end = paragraphs.after(start) or len(text)
                line = document.line_at(start)
                remarks.append((line, "comment is never closed: removed to the next blank line"))
            elif block is not None and block.kind == "text" and end is not None:
                end = end if end <= block.end else None  # a paragraph bounds its comments
            if end is not None:
                edits.append(Edit(start, end, kind="comment"))
                done = end
        start = text.find("<!--", max(start + 1, done))


def _raw_elements(document: Document, edits: list[Edit], remarks: list[tuple[int, str]]) -> None:
    starts = [match for match in _RAW.finditer(document.text) if document.is_syntax(match.start())]
    if not starts:
        return
    ends: dict[str, list[int]] = {"script": [], "style": []}
    for match in _RAW_END.finditer(document.text):
        ends[match[1].lower()].append(match.end())
    for match in starts:
        closing = ends[match[1].lower()]
        index = bisect_left(closing, match.end())
        block = document.block_at(match.start())
        if index < len(closing):
            edits.append(Edit(match.start(), closing[index], kind="tag"))
        elif block is not None and block.kind == "html":
            line = document.line_at(match.start())
            remarks.append((line, f"<{match[1]}> is never closed: the tag alone was removed"))
            edits.append(Edit(*match.span(), kind="tag"))


def _liquid_comments(document: Document) -> Iterator[Edit]:
    opening: int | None = None
    for match in document.visible(_LIQUID_COMMENT):
        if match[1] is None:
            opening = match.start() if opening is None else opening
        elif opening is not None:
            yield Edit(opening, match.end(), kind="comment")
            opening = None


def _mdx_comments(document: Document) -> Iterator[Edit]:
    ends = _Ends(document.text, _MDX_COMMENT_END)
    for match in document.visible(_MDX_COMMENT):
        end = ends.after(match.end())
        if end is not None:
            yield Edit(match.start(), end, kind="comment")


def _listings(document: Document) -> Iterator[Edit]:
    """Turn ``highlight`` shortcodes that stand on lines of their own into fences."""
    ends = [match.span() for match in _LISTING_END.finditer(document.text)]
    done = 0
    for match in document.visible(_LISTING):
        index = bisect_left(ends, (match.end(), 0))
        if match.start() < done or index == len(ends):
            continue
        first, done = ends[index]
        inside = document.text[match.end() : first]
        longest = max((len(run) for run in _FENCE.findall(inside)), default=2)
        fence = "`" * (longest + 1)
        yield Edit(*match.span(), fence + (match[1] or ""), "shortcode")
        yield Edit(first, done, fence, "shortcode")


def _indented_blocks(document: Document) -> Iterator[Edit]:
    """Open admonitions and tabs (``!!! note "Title"``): the title stays, the indent goes.

    Their indented text is markdown to the site, and would be a listing to a plain parser.
    """
    done = 0
    for match in document.visible(_INDENTED_BLOCK):
        line = document.line_at(match.start())
        if line < done or match[0].rstrip() in ("===", "!!!", "???"):
            continue
        yield Edit(*match.span(), match[1] or "", "shortcode")
        done = line + 1
        while done < len(document.lines):
            inner = document.lines[done]
            if inner.startswith(_INDENT) and inner.strip():
                yield Edit(document.starts[done], document.starts[done] + len(_INDENT))
            elif inner.strip():
                break
            done += 1


def _module_code(document: Document, *, mdx: bool) -> Iterator[Edit]:
    """Find ``import`` and ``export`` statements at the start of a paragraph.

    In ``.md`` files an import must name its module in quotes, and exports count only behind one:
    "Import duties apply" and "export licences" are prose.
    """
    for block in document.blocks:
        if block.kind != "text" or not document.text.startswith(("import", "export"), block.start):
            continue
        line = block.first_line
        while line < len(document.lines):
            end = _statement_end(document, line, exports=mdx or line > block.first_line)
            if end is None:
                break
            line = end
        if line > block.first_line:
            yield Edit(block.start, document.line_end(line - 1), kind="jsx")


def _statement_end(document: Document, line: int, *, exports: bool) -> int | None:
    """Return the line behind the statement that starts at ``line``, ``None`` if none does."""
    lines = document.lines
    if lines[line].startswith("import"):
        return _import_end(lines, line)
    if exports and _EXPORT.match(lines[line]):
        return _export_end(lines, line)
    return None


def _import_end(lines: list[str], line: int) -> int | None:
    joined = ""
    for index in range(line, min(line + 60, len(lines))):
        if not lines[index].strip() or len(joined) + len(lines[index]) > 2_000:
            return None
        joined += lines[index] + "\n"
        if ("'" in joined or '"' in joined) and _IMPORT.match(joined):
            return index + 1
    return None


def _export_end(lines: list[str], line: int) -> int:
    """Return the line behind an export: its brackets are closed and a blank or statement follows.

    Where they never close, the statement ends at the first blank line.
    """
    depth = characters = 0
    first_blank: int | None = None
    index = line
    for index in range(line, min(line + _STATEMENT_LINES_MAX, len(lines))):
        text = lines[index]
        is_blank = not text.strip()
        if depth <= 0 and index > line and (is_blank or text.startswith(("import", "export"))):
            return index
        if is_blank and first_blank is None:
            first_blank = index
        characters += len(text)
        if characters > _STATEMENT_CHARACTERS_MAX:
            break
        depth += sum(map(text.count, "([{")) - sum(map(text.count, ")]}"))
    if depth <= 0 and index + 1 == len(lines):
        return len(lines)
    return index + 1 if first_blank is None else first_blank
