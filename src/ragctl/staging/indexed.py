"""Stages 1 to 4, one at a time: content folder, pages, passages, vectors, index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragctl.artifacts.index import write_index
from ragctl.artifacts.manifest import Folder
from ragctl.artifacts.pages import read_pages, writing_pages
from ragctl.artifacts.passages import read_passages, writing_passages
from ragctl.artifacts.vectors import read_vectors, writing_vectors
from ragctl.errors import UsageError
from ragctl.records.chunks import EmbeddedChunk
from ragctl.stages.embed import embed
from ragctl.staging.reading import (
    CONTENT,
    Content,
    ContentDigest,
    Cutting,
    Reading,
    chunk_parameters,
    data_of,
    found_in,
    parse_parameters,
    require_apart,
)
from ragctl.staging.running import Run, StageRun, run_on_files

if TYPE_CHECKING:
    from ragctl.protocols import Chunker, Embedder, Parser
    from ragctl.records.vectors import EmbeddingIdentity


def run_parse(folder: Path, content: Content, parser: Parser, *, force: bool = False) -> StageRun:
    """Stage 1: the content folder becomes ``parse.jsonl`` and ``text/``."""
    require_apart(folder, content.root)
    found = found_in(content)
    digest = ContentDigest()
    for source in found.sources:
        data = data_of(source, left_out=[])
        if data is not None:
            digest.add(source, data)
    opened = Folder(folder, claims=True)

    def work() -> dict[str, Any]:
        reading = Reading(found, parser, drafts=content.drafts)
        with writing_pages(folder) as write:
            for page in reading.pages():
                write(page)
        return reading.counts()

    run = Run(opened, "parse", force=force)
    parameters = parse_parameters(content, parser)
    return run({CONTENT: digest.hexdigest()}, parameters, work)


def run_chunk(folder: Path, chunker: Chunker, *, force: bool = False) -> StageRun:
    """Stage 2: pages become ``chunks.jsonl``; landing pages have no passages."""

    def work() -> dict[str, Any]:
        counts = Cutting(chunker)
        with writing_passages(folder) as write:
            for page in read_pages(folder):
                for line in counts.lines(page):
                    write(line)
        return counts.counts()

    return run_on_files(folder, "chunk", chunk_parameters(chunker), work, force=force)


def run_embed(
    folder: Path,
    embedder: Embedder,
    *,
    batch_size: int = 32,
    in_flight: int = 2,
    on_count: Callable[[int], None] = lambda count: None,
    force: bool = False,
) -> StageRun:
    """Stage 3: passages become ``vectors.npy``.

    Vectors that the folder already has for the same text and model are kept, unless forced;
    ``on_count`` is told how many passages have been through.
    """
    opened = Folder(folder)
    identity = embedder.identity
    reused = {} if force else _reusable(opened, identity)

    def work() -> dict[str, Any]:
        without: list[str] = []
        sent = rows = 0
        with ExitStack() as stack:
            write = stack.enter_context(writing_vectors(folder, dimensions=identity.dimensions))
            known = stack.enter_context(read_vectors(folder).opened()) if reused else None
            batches = embed(
                (line.chunk for line in read_passages(folder)),
                embedder,
                known=lambda keys: {k: known(reused[k]) for k in keys if known and k in reused},
                batch_size=batch_size,
                in_flight=in_flight,
            )
            for batch in batches:
                sent += batch.sent
                for result in batch.results:
                    if isinstance(result, EmbeddedChunk):
                        write(result.chunk.ref, result.content_hash, result.vector)
                        rows += 1
                    else:
                        without.append(result.chunk.ref)
                on_count(rows + len(without))
        return vector_counts(rows, identity, without, sent=sent)

    return run_on_files(folder, "embed", asdict(identity), work, force=force)


def run_index(folder: Path, *, force: bool = False) -> StageRun:
    """Stage 4: vectors at length 1 become ``index.npz``."""
    return run_on_files(
        folder,
        "index",
        {},
        lambda: {"rows": write_index(folder, read_vectors(folder))},
        force=force,
    )


def _reusable(folder: Folder, identity: EmbeddingIdentity) -> dict[str, int]:
    """Return the rows that another embedding by the same model need not make, by content hash."""
    record = folder.stages.get("embed")
    if record is None or record.parameters != asdict(identity):
        return {}
    try:
        stored = read_vectors(folder.path)
    except UsageError:
        return {}
    return {key: row for row, key in enumerate(stored.hashes)}


def vector_counts(
    rows: int, identity: EmbeddingIdentity, without: Sequence[str], **more: int
) -> dict[str, Any]:
    return {
        "rows": rows,
        "dimensions": identity.dimensions,
        "without_vector": list(without),
        **more,
    }
