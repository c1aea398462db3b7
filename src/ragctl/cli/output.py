"""What reaches the terminal: consoles, JSON, and text from elsewhere made harmless.

Colour and hyperlinks appear on a terminal that wants them and nowhere else (``NO_COLOR``,
``TERM=dumb``, pipes). Text of pages and models never brings control characters along.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.table import Table

    from ragctl.records.gateway import Place

_UNSEEN = (
    r"\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f"
)
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f{_UNSEEN}]")
_UNSAFE_IN_JSON = re.compile(rf"[{_UNSEEN}]")
_LINK = re.compile(r"(?:https?|file)://[^\s\x00-\x20\x7f-\x9f\\]*")
_WIDE = 100_000
_USUAL = 80


def harmless(text: str) -> str:
    """Return a text without control, direction and tag characters and lone surrogates."""
    return _CONTROL.sub("\ufffd", text)


class Output:
    """Data on stdout, remarks on stderr."""

    def __init__(self, *, environ: Mapping[str, str]) -> None:
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM", "") == "dumb"
        self.is_terminal = sys.stdout.isatty()
        self.has_links = self.is_terminal and not plain
        self.is_live = sys.stderr.isatty() and environ.get("TERM", "") != "dumb"
        self.has_markdown = self.has_links
        self.before_remark: Callable[[], None] | None = None
        self.data = _console(sys.stdout, plain=plain)
        self.remarks = _console(sys.stderr, plain=plain)

    def json(self, document: Mapping[str, object]) -> None:
        """Print one JSON document; characters that the stream cannot hold are escaped."""
        sys.stdout.write(_json(document, indent=2))

    def json_lines(self, documents: Iterable[Mapping[str, object]]) -> None:
        """Print JSON documents, one a line."""
        for document in documents:
            sys.stdout.write(_json(document, indent=None))

    def stream(self, text: str) -> None:
        """Write a piece of an answer as it comes."""
        sys.stdout.write(harmless(text))
        sys.stdout.flush()

    def remark(self, text: str, *, style: str = "") -> None:
        """Print a line for people on stderr; ``before_remark`` makes room for it."""
        if self.before_remark is not None:
            self.before_remark()
        self.remarks.print(Text(harmless(text), style=style), soft_wrap=True)

    def waiting(self, place: Place) -> None:
        """Say how many stand before a question that waits for a model."""
        self.remark(
            f"Waiting for a free slot: {place.waiting} before you, {place.working} at work."
        )

    def line(self, text: str | Text = "") -> None:
        """Print a line of data, never wrapped or cut by us."""
        self.data.print(Text(harmless(text)) if isinstance(text, str) else text, soft_wrap=True)

    def table(self, table: Table) -> None:
        """Print a table without blanks at the ends of its lines."""
        _print_table(table, self.data)

    def remark_table(self, table: Table) -> None:
        """Print a table for people on stderr."""
        _print_table(table, self.remarks)

    def fits(self, table: Table) -> bool:
        """Tell whether a table can be shown without breaking a cell."""
        unbounded = self.data.options.update(max_width=_WIDE)
        return self.data.measure(table, options=unbounded).maximum <= self.data.width

    def linked(self, text: str, target: str, *, style: str = "") -> Text:
        """Return a text that opens ``target`` where the terminal knows hyperlinks.

        Only pages of the web and files of this disk are opened.
        """
        base = Style.parse(style) if style else Style()
        if self.has_links and _LINK.fullmatch(target):
            base += Style(link=target)
        return Text(harmless(text), style=base)


class HarmlessConsole(Console):
    """A console on which no text brings control characters along, whoever prints it."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of a renderable, their texts made harmless."""
        for segment in super().render(renderable, options):
            if segment.control or not _CONTROL.search(segment.text):
                yield segment
            else:
                yield Segment(harmless(segment.text), segment.style)


def _print_table(table: Table, console: Console) -> None:
    with console.capture() as captured:
        console.print(table)
    lines = captured.get().split("\n")
    console.file.write("\n".join(line.rstrip(" ") for line in lines))


def _json(document: Mapping[str, object], *, indent: int | None) -> str:
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(document, indent=indent, ensure_ascii=not is_unicode)
    return _UNSAFE_IN_JSON.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n"


def _console(stream: TextIO, *, plain: bool) -> Console:
    is_terminal = stream.isatty()
    console = HarmlessConsole(
        file=stream,
        force_terminal=is_terminal and not plain,
        color_system="auto" if is_terminal and not plain else None,
        width=None if is_terminal else _WIDE,
        markup=False,
        highlight=False,
        emoji=False,
    )
    if console.width < 1:  # a COLUMNS of 0, on which nothing would be shown
        console.width = _USUAL
    return console
