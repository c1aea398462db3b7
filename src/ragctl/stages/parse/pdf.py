"""PDF files: each page of the file becomes a section, ``Page 3``, that opens at ``#page=3``.

The text is what pypdf extracts; how much that is depends on how the file was made. A file without
text gives an empty page, which an ingest reports.
"""

from __future__ import annotations

import hashlib
from io import BytesIO
from typing import TYPE_CHECKING

from ragctl.records.pages import Heading, Page, SourceFile
from ragctl.stages.parse.decoding import REPLACEMENT
from ragctl.stages.parse.order import reading_order, stem_of

if TYPE_CHECKING:
    from pypdf import PdfReader


def parse_pdf(source: SourceFile, data: bytes) -> Page:
    """Return the page that a PDF holds; whatever the bytes are, nothing is raised.

    ``source_lines`` are page numbers of the file; a page of it without text gives no section.
    """
    title, pages, warnings = _extracted(data)
    lines: list[str] = []
    numbers: list[int] = []
    headings: list[Heading] = []
    start = 0
    for number, text in enumerate(pages, start=1):
        if not text:
            continue
        label = f"Page {number}"
        block = [f"## {label}", "", *text.split("\n"), ""]
        headings.append(
            Heading(label=label, level=2, anchor=f"page={number}", start_char=start, line=number)
        )
        lines += block
        numbers += [number] * len(block)
        start += sum(len(line) + 1 for line in block)
    text = "\n".join(lines[:-1])
    return Page(
        url=source.url,
        track=source.track,
        title=title or stem_of(source.path),
        source_path=source.path,
        sha256=hashlib.sha256(data).hexdigest(),
        text=text,
        front_matter={},
        is_landing=False,
        is_draft=False,
        order=reading_order(source.path, {}),
        headings=tuple(headings),
        source_lines=tuple(numbers[:-1]),
        warnings=tuple(f"{source.path}: {warning}" for warning in warnings),
        size_bytes=source.size_bytes,
        mtime_ns=source.mtime_ns,
    )


def _extracted(data: bytes) -> tuple[str, list[str], list[str]]:
    """Return title, text by page and what went wrong; pypdf raises many kinds of errors."""
    from pypdf import PdfReader

    pages: list[str] = []
    try:
        reader = PdfReader(BytesIO(data))
        title = _clean(str(reader.metadata.title or "")) if reader.metadata else ""
        for page in reader.pages:
            pages.append(_clean(page.extract_text() or ""))
    except Exception as error:
        what = "it is encrypted" if _is_encrypted(data) else f"{type(error).__name__}: {error}"
        return "", pages, [f"the PDF cannot be read: {what}"]
    empty = [number for number, text in enumerate(pages, start=1) if not text]
    warnings = []
    if empty and len(empty) < len(pages):
        shown = ", ".join(str(number) for number in empty[:10])
        warnings.append(f"no text on page {shown} (a picture of text?)")
    return title, pages, warnings


def _is_encrypted(data: bytes) -> bool:
    from pypdf import PdfReader

    try:
        reader: PdfReader = PdfReader(BytesIO(data))
    except Exception:
        return False
    return bool(reader.is_encrypted)


def _clean(text: str) -> str:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    cleaned = "\n".join(lines).strip()
    return "".join(
        REPLACEMENT
        if char == "\0" or "\ud800" <= char <= "\udfff"
        else "\n"
        if char == "\f"
        else char
        for char in cleaned
    )
