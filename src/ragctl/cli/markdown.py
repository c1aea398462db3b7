"""An answer on a terminal: markdown that is shown while it is written.

Blocks that are complete are printed once and scroll away like any output; the one that is being
written is painted again as it grows, from the first line that differs. No mode of the terminal is
changed and no cursor hidden: whenever it ends, by Ctrl-C too, what is there stays readable.

Nothing that a model writes is hidden. Links, images, references and HTML are not interpreted:
``[here](https://x.example)`` shows both parts and ``[1]`` is a citation; underscores and stars
inside words are letters, so that ``__init__`` and ``2*3*4`` stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from rich.cells import chop_cells
from rich.markdown import Heading, Markdown, MarkdownElement, TableElement, TextElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from ragctl.cli.output import Output, harmless

if TYPE_CHECKING:
    from markdown_it.token import Token
    from rich.console import Console, ConsoleOptions, RenderResult

SECONDS_BETWEEN_PAINTS = 0.04
LEAST_COLUMNS = 20
_LEAST_COLUMNS_A_CELL = 5
_CODE_INDENT = 2
_THEME = Theme({"markdown.code": "cyan", "markdown.code_block": "cyan"})
_NOT_INTERPRETED = ("link", "image", "autolink", "reference", "entity", "lheading")
_TRAILING = re.compile(r"(?:\x1b\[[\d;]*m| )+$")


class MarkdownWriter:
    """Shows the text of an answer as it comes; ``close`` prints what was still being written."""

    def __init__(self, output: Output, *, clock: Callable[[], float]) -> None:
        self._console = output.data
        self._clock = clock
        self._open = ""
        self._painted: list[str] = []
        self._painted_at = 0.0
        self._has_printed = False
        output.before_remark = self.clear

    def write(self, piece: str) -> None:
        """Take the next piece of the answer."""
        self._open += harmless(piece)
        has_line = "\n" in piece
        if has_line:
            self._print(finished(self._open))
        now = self._clock()
        if has_line or now - self._painted_at >= SECONDS_BETWEEN_PAINTS:
            self._painted_at = now
            self._paint(self._cropped(self._lines(self._open)))

    def close(self) -> None:
        """Print what is left, whole."""
        self._print(len(self._open))

    def clear(self) -> None:
        """Take what is being painted off the screen, for a line from elsewhere."""
        self._paint(())

    def _print(self, length: int) -> None:
        """Print the first characters of what is open, for good."""
        if not length:
            return
        lines = self._lines(self._open[:length])
        self._paint(lines)
        self._painted = []
        self._has_printed = self._has_printed or bool(lines)
        self._open = self._open[length:]

    def _lines(self, text: str) -> list[str]:
        """Return the lines that show a text, a blank one before them where others precede."""
        with self._console.use_theme(_THEME), self._console.capture() as captured:
            self._console.print(AnswerMarkdown(text))
        lines = [_without_trailing_blanks(line) for line in captured.get().split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        return ["", *lines] if lines and self._has_printed else lines

    def _cropped(self, lines: list[str]) -> list[str]:
        """Return the end that fits the screen: what has scrolled off cannot be painted again."""
        room = max(self._console.height - 2, 2)
        return lines if len(lines) <= room else ["…", *lines[1 - room :]]

    def _paint(self, lines: Sequence[str]) -> None:
        same = 0
        for old, new in zip(self._painted, lines, strict=False):
            if old != new:
                break
            same += 1
        up = len(self._painted) - same
        written = f"\x1b[{up}A\x1b[J" if up else ""
        written += "".join(f"{line}\n" for line in lines[same:])
        if written:
            self._console.file.write(written)
            self._console.file.flush()
        self._painted = list(lines)


def _without_trailing_blanks(line: str) -> str:
    """Cut the blanks that fill a line up; styles that were on end with it."""
    end = _TRAILING.search(line)
    if end is None:
        return line
    return line[: end.start()] + ("\x1b[0m" if "\x1b[0m" in end[0] else "")


def finished(text: str) -> int:
    """Return how many characters of a growing text hold blocks that cannot change any more.

    All but the last block of its complete lines: what comes may still belong to that one.
    """
    complete = text[: text.rfind("\n") + 1]
    starts = [token.map[0] for token in _blocks().parse(complete) if not token.level and token.map]
    if len(starts) < 2:
        return 0
    return sum(len(line) + 1 for line in complete.split("\n")[: starts[-1]])


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(_NOT_INTERPRETED)


@cache
def _blocks() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(_NOT_INTERPRETED)
    parser.core.ruler.disable("inline")
    return parser


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of an answer; marks of emphasis that may be letters are text."""
    tokens = _parser().parse(text)
    for token in tokens:
        _keep_letters(token.children or [])
    return tokens


def _keep_letters(children: list[Token]) -> None:
    opened: list[int] = []
    for place, token in enumerate(children):
        if token.type in ("em_open", "strong_open"):
            opened.append(place)
        elif token.type in ("em_close", "strong_close"):
            first = opened.pop()
            before = children[first - 1].content[-1:] if first else ""
            after = children[place + 1].content[:1] if place + 1 < len(children) else ""
            if token.markup.startswith("_") or before.isalnum() or after.isalnum():
                for mark in (children[first], token):
                    mark.type, mark.tag, mark.nesting, mark.content = "text", "", 0, mark.markup


class _Heading(Heading):
    """A heading: its words in bold, to the left."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.justify = "left"
        text.stylize("bold")
        yield text


class _Code(TextElement):
    """A listing as it is written: set in, long lines folded, never cut."""

    style_name = "markdown.code_block"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - _CODE_INDENT, 1)
        lines = [
            part
            for line in str(self.text).rstrip("\n").split("\n")
            for part in (chop_cells(line.expandtabs(), width) or [""])
        ]
        yield Padding(
            Text("\n".join(lines), style=self.style, overflow="fold"), (0, 0, 0, _CODE_INDENT)
        )


class _Table(TableElement):
    """A table whose cells are folded, not cut; without columns where there is no room for them."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = self.header.row.cells if self.header and self.header.row else []
        rows = self.body.rows if self.body else []
        if len(header) * _LEAST_COLUMNS_A_CELL > options.max_width:
            for cells in (header, *(row.cells for row in rows)):
                yield Text(" | ").join(cell.content for cell in cells)
            return
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for cell in header:
            table.add_column(cell.content, justify=cell.justify, overflow="fold")
        for row in rows:
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class AnswerMarkdown(Markdown):
    """Markdown of a model, shown with nothing hidden."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = tokens_of(text)
