"""Boundary 2, chunk: ``chunks.jsonl``, a passage a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ragctl.artifacts.storage import encoded_line, read_lines, record_of, replacing
from ragctl.errors import ArtifactError
from ragctl.records.chunks import Chunk

PASSAGES_FILE = "chunks.jsonl"
MADE_BY = "ragctl stage chunk --from DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageLine:
    """A passage of ``chunks.jsonl``; ``content_hash`` is the sha256 of the text to embed."""

    chunk: Chunk
    content_hash: str


@contextmanager
def writing_passages(folder: Path) -> Iterator[Callable[[PassageLine], None]]:
    """Give a function that writes a passage; the file is whole when the block ends well."""
    with replacing(folder / PASSAGES_FILE) as file:

        def write(line: PassageLine) -> None:
            values = asdict(line.chunk)
            first = {"ref": values.pop("ref"), "content_hash": line.content_hash}
            file.write(encoded_line({**first, **values}))

        yield write


def read_passages(folder: Path) -> Iterator[PassageLine]:
    """Yield the passages in the order of the file.

    Raises :class:`~ragctl.errors.UsageError` for a reference that comes twice or does not name
    its own place.
    """
    seen: set[str] = set()
    for place, values in read_lines(folder / PASSAGES_FILE, made_by=MADE_BY):
        chunk = record_of(Chunk, values, place)
        if chunk.ref in seen:
            raise ArtifactError(f"{place}: {chunk.ref} stands there for the second time")
        if not 0 <= chunk.start_char <= chunk.end_char:
            raise ArtifactError(f"{place}: characters {chunk.start_char} to {chunk.end_char}")
        seen.add(chunk.ref)
        content_hash = values.get("content_hash")
        if not isinstance(content_hash, str):
            raise ArtifactError(f"{place}: content_hash is missing")
        yield PassageLine(chunk=chunk, content_hash=content_hash)
