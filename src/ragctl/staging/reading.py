"""The content folder as pages and passages, counted as they pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragctl.artifacts.manifest import MANIFEST_FILE, Folder
from ragctl.artifacts.passages import PassageLine
from ragctl.artifacts.storage import record_of
from ragctl.errors import ContentError, UsageError
from ragctl.files import Found, find, read
from ragctl.protocols import Chunker, Parser
from ragctl.records.chunks import Chunk
from ragctl.records.pages import LeftOut, Page, SourceFile
from ragctl.records.vectors import EmbeddingIdentity
from ragctl.stages.embed import content_hash, embedded_text

CONTENT = "content"
"""The name of the content folder among the inputs of ``parse``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The part of a site that ``parse`` reads."""

    root: str
    below: str | None = None
    tracks: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    drafts: bool = False


def recorded_content(folder: Path) -> Content | None:
    """Return what the pages of a folder were parsed from; ``None`` for a new folder."""
    if not (folder / MANIFEST_FILE).is_file():
        return None
    record = Folder(folder).stages.get("parse")
    return None if record is None else record_of(Content, record.parameters, "manifest.json: parse")


def recorded_embedding(folder: Path) -> EmbeddingIdentity | None:
    """Return the model that made the vectors of a folder, ``None`` before that."""
    record = Folder(folder).stages.get("embed")
    if record is None:
        return None
    return record_of(EmbeddingIdentity, record.parameters, "manifest.json: embed")


def require_apart(folder: Path, root: str) -> None:
    """Raise UsageError for artifacts inside the content: their texts would be read as pages."""
    if folder.resolve().is_relative_to(Path(root).resolve()):
        raise UsageError(
            f"{folder} lies inside the content folder {root}",
            hint="Choose a folder elsewhere: the texts written there would be read as pages.",
        )


def found_in(content: Content) -> Found:
    below = None if content.below is None else Path(content.below)
    return find(Path(content.root), below=below, tracks=content.tracks, exclude=content.exclude)


def data_of(source: SourceFile, left_out: list[LeftOut]) -> bytes | None:
    try:
        return read(source)
    except ContentError as error:
        left_out.append(LeftOut(path=source.path, reason=error.message, intended=False))
        return None


class ContentDigest:
    """One sha256 over paths and bytes of the files that are read."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, source: SourceFile, data: bytes) -> None:
        line = f"{source.path}\0{hashlib.sha256(data).hexdigest()}\n"
        self._digest.update(line.encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


class Reading:
    """Reads and parses the files of a site one after the other, and counts."""

    def __init__(self, found: Found, parser: Parser, *, drafts: bool) -> None:
        self._sources = found.sources
        self._parser = parser
        self._drafts = drafts
        self._left_out = list(found.left_out)
        self._pages = self._chars = 0
        self.digest = ContentDigest()

    def pages(self) -> Iterator[Page]:
        for source in self._sources:
            data = data_of(source, self._left_out)
            if data is None:
                continue
            self.digest.add(source, data)
            page = self._parser.parse(source, data)
            if page.is_draft and not self._drafts:
                self._left_out.append(LeftOut(path=source.path, reason="draft", intended=True))
                continue
            self._pages += 1
            self._chars += len(page.text)
            yield page

    def counts(self) -> dict[str, Any]:
        left_out = sorted(self._left_out, key=lambda left: left.path)
        return {
            "pages": self._pages,
            "chars": self._chars,
            "left_out": [asdict(left) for left in left_out],
        }


@dataclass(slots=True)
class Cutting:
    """Cuts pages and counts; pages with text of their own and without a passage are named."""

    chunker: Chunker
    passages: int = 0
    pages: int = 0
    empty: list[str] = field(default_factory=list)

    def lines(self, page: Page) -> list[PassageLine]:
        chunks: Sequence[Chunk] = () if page.is_landing else self.chunker.chunk(page)
        self.pages += 1
        self.passages += len(chunks)
        if not chunks and not page.is_landing:
            self.empty.append(page.url)
        return [
            PassageLine(chunk=chunk, content_hash=content_hash(embedded_text(chunk)))
            for chunk in chunks
        ]

    def counts(self) -> dict[str, Any]:
        return {"passages": self.passages, "pages": self.pages, "pages_without": self.empty}


def parse_parameters(content: Content, parser: Parser) -> dict[str, Any]:
    return {**asdict(content), "parser": parser.signature}


def chunk_parameters(chunker: Chunker) -> dict[str, Any]:
    return {"chunker": chunker.name, **chunker.parameters}
