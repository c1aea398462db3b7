"""Pages, passages and hits for the fuzz tests, made from nothing but a text."""

from __future__ import annotations

from pathlib import Path

from ragctl.records.chunks import Chunk
from ragctl.records.pages import Page, SourceFile
from ragctl.records.stored import PageText
from ragctl.stages.parse import parse


def source_of(data: bytes, name: str) -> SourceFile:
    """Return the file that holds some bytes."""
    return SourceFile(
        path=name,
        absolute=Path(name),
        url="/" + name.rpartition(".")[0],
        track="guide",
        is_landing=False,
        size_bytes=len(data),
        mtime_ns=0,
    )


def as_bytes(text: str) -> bytes:
    """Return the bytes of a file with a text; a lone surrogate becomes what UTF-8 forbids."""
    return text.encode("utf-8", "surrogatepass")


def page_of(text: str, name: str = "guide/a.md") -> Page:
    """Return the page that a file with a text holds."""
    return parse(source_of(as_bytes(text), name), as_bytes(text))


def stored(page: Page) -> PageText:
    """Return a page as the audit reads it from the database."""
    return PageText(
        id=1,
        url=page.url,
        track=page.track,
        title=page.title,
        source_path=page.source_path,
        sha256=page.sha256,
        is_landing=page.is_landing,
        text=page.text,
        source_lines=page.source_lines,
    )


def without_blanks(text: str) -> str:
    """Return what can be seen of a text."""
    return "".join(text.split())


def sliced(page: Page, passages: tuple[Chunk, ...]) -> str:
    """Return what can be seen of the page's text in its passages."""
    return without_blanks("".join(page.text[one.start_char : one.end_char] for one in passages))
