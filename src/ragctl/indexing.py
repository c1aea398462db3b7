"""The steps of an ingest: which files changed, their passages, their vectors, their rows."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from ragctl.errors import ContentError, EmbeddingRefused, ModelReplyError
from ragctl.files import read
from ragctl.index_match import record_identity
from ragctl.records.chunks import Chunk, EmbeddedChunk, RefusedChunk
from ragctl.stages.chunk.halves import halves
from ragctl.stages.embed import content_hash, embed, embedded_text
from ragctl.stages.names import RULES_VERSION as NAMES_VERSION
from ragctl.stages.names import names_of

if TYPE_CHECKING:
    from ragctl.db.database import Database
    from ragctl.db.embedding_cache import EmbeddingCache
    from ragctl.ledger import Ledger
    from ragctl.protocols import Chunker, Embedder, Parser
    from ragctl.records.pages import Page, SourceFile
    from ragctl.records.stored import StoredPage
    from ragctl.records.vectors import IndexIdentity, Vector

Vectored = EmbeddedChunk | RefusedChunk
SPLIT_FOR = ("too_long", "not_finite")
DEPTH = 3
ATTEMPTS = 16
TELLING = 8
GROUP_PAGES, GROUP_BYTES = 64, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestOptions:
    """How to ingest.

    ``covers`` tells whether a stored page lies in the part of the site that this run reads: only
    such pages are removed when their file is gone. ``rebuild`` makes everything anew and swaps it
    in at the end, in one transaction; ``moved`` accepts another content root. ``keep_missing``
    keeps pages whose file is gone; ``remove_many`` allows to remove more than half of a track.
    ``give_way`` is called between batches and returns when the next one may be embedded.
    """

    root: str
    covers: Callable[[StoredPage], bool]
    parser: Parser
    drafts: bool = False
    rebuild: bool = False
    moved: bool = False
    keep_missing: bool = False
    remove_many: bool = False
    batch_size: int = 32
    in_flight: int = 2
    give_way: Callable[[], object] = lambda: None


def readable_files(
    sources: Iterable[SourceFile], ledger: Ledger
) -> Iterator[tuple[SourceFile, bytes]]:
    """Yield files with their bytes; one that cannot be read is left out, its stored page kept."""
    for source in sources:
        try:
            with ledger.timed("read"):
                data = read(source)
        except ContentError as error:
            ledger.leave_out(source, error.message, intended=False, keep=True)
            continue
        yield source, data


def changed_files(
    sources: Iterable[SourceFile],
    stored: Mapping[str, StoredPage],
    database: Database,
    options: IngestOptions,
    ledger: Ledger,
) -> Iterator[tuple[SourceFile, bytes]]:
    """Yield the files whose page must be made, with their bytes; note those that are unchanged."""
    for source, data in readable_files(sources, ledger):
        page = stored.get(source.url)
        if page is None or options.rebuild or not _is_same(page, source, data, options):
            yield source, data
            continue
        if page.passages == 0 and not page.is_landing:
            ledger.still_silent(options.parser.parse(source, data))
        if (page.size_bytes, page.mtime_ns) != (source.size_bytes, source.mtime_ns):
            database.pages.touch(page.id, size_bytes=source.size_bytes, mtime_ns=source.mtime_ns)
        ledger.unchanged(source)


def _is_same(page: StoredPage, source: SourceFile, data: bytes, options: IngestOptions) -> bool:
    return (
        page.sha256 == hashlib.sha256(data).hexdigest()
        and page.parsed_with == _signature(options.parser)
        and page.refused == 0
        and page.source_path == source.path
        and page.is_landing == source.is_landing
        and (options.drafts or not page.is_draft)
    )


def cut_pages(
    files: Iterable[tuple[SourceFile, bytes]],
    parser: Parser,
    chunker: Chunker,
    *,
    drafts: bool,
    ledger: Ledger,
) -> Iterator[tuple[Page, tuple[Chunk, ...]]]:
    """Yield the page of each file with its passages; landing pages have none."""
    for source, data in files:
        with ledger.timed("parse"):
            page = parser.parse(source, data)
        if page.is_draft and not drafts:
            ledger.leave_out(source, "draft", intended=True, keep=False)
            continue
        with ledger.timed("chunk"):
            passages = () if page.is_landing else chunker.chunk(page)
        ledger.parsed(page, len(passages))
        yield page, passages


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPage:
    """A page with the passages that have a vector and the count of those that were refused."""

    page: Page
    passages: tuple[EmbeddedChunk, ...]
    refused: int


def with_vectors(
    pages: Iterable[tuple[Page, tuple[Chunk, ...]]],
    database: Database,
    embedder: Embedder,
    options: IngestOptions,
    ledger: Ledger,
) -> Iterator[Sequence[EmbeddedPage]]:
    """Yield pages as soon as all of their passages were embedded, in order, a batch's together.

    Passages of several pages share a batch; new vectors are remembered as they come, so that an
    interrupted run never pays twice.
    """
    cache = database.embedding_cache(embedder.identity)
    waiting: deque[tuple[Page, int]] = deque()

    def passages() -> Iterator[Chunk]:
        for page, chunks in pages:
            waiting.append((page, len(chunks)))
            yield from chunks

    batches = embed(
        passages(),
        embedder,
        known=cache.known,
        batch_size=options.batch_size,
        in_flight=options.in_flight,
    )
    ready: list[tuple[Vectored, ...]] = []
    splitter = _Splitter(embedder, cache)
    has_any = False
    with ledger.timed("embed"):
        for batch in batches:
            has_any = has_any or any(isinstance(made, EmbeddedChunk) for made in batch.results)
            if not has_any:
                _require_a_vector(batch.results)
            cache.remember(batch.computed)
            slots = [splitter.smaller(result) for result in batch.results]
            ready.extend(slots)
            ledger.embedded(chain.from_iterable(slots), computed={*batch.computed, *splitter.made})
            yield _finished(waiting, ready)
            options.give_way()
        yield _finished(waiting, ready)


def _require_a_vector(results: Sequence[Vectored]) -> None:
    """Raise ModelReplyError where a model gave vectors for none of its first passages.

    One text may upset a model; if many do and none passes, the model itself is at fault, and a
    site of thousands of passages would be tried for hours.
    """
    refused = [result for result in results if isinstance(result, RefusedChunk)]
    if len(refused) >= TELLING and all(result.reason == "not_finite" for result in refused):
        raise ModelReplyError(
            f"none of the first {len(refused)} passages could be embedded: {refused[0].message}",
            hint="The model does not work here: run it on another device (OLLAMA_NUM_GPU=0), or "
            "choose another.",
        )


class _Splitter:
    """Embeds in smaller pieces what the model refused for its text.

    A piece that is refused is cut again, three times at most, and a run spends no more than
    ``ATTEMPTS`` refused requests on this: what still does not fit stays refused.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self._attempts = ATTEMPTS
        self.made: set[str] = set()

    def smaller(self, result: Vectored, depth: int = 0) -> tuple[Vectored, ...]:
        """Return the pieces of a refused passage, or the result as it is."""
        if not isinstance(result, RefusedChunk) or result.reason not in SPLIT_FOR:
            return (result,)
        pair = halves(result.chunk) if depth < DEPTH and self._attempts > 0 else None
        if pair is None:
            return (result,)
        pieces = [self._embedded(half, result) for half in pair]
        if all(isinstance(piece, RefusedChunk) for piece in pieces) and depth > 0:
            return (result,)
        return tuple(found for piece in pieces for found in self.smaller(piece, depth + 1))

    def _embedded(self, chunk: Chunk, refused: RefusedChunk) -> Vectored:
        text = embedded_text(chunk)
        digest = content_hash(text)
        known = self._cache.known([digest])
        if digest in known:
            return EmbeddedChunk(chunk=chunk, vector=known[digest], content_hash=digest)
        try:
            vector = self._embedder.embed([text], purpose="document")[0]
        except EmbeddingRefused as error:
            self._attempts -= 1
            return RefusedChunk(chunk=chunk, reason=error.reason, message=error.message)
        self._cache.remember({digest: vector})
        self.made.add(digest)
        return EmbeddedChunk(chunk=chunk, vector=vector, content_hash=digest)


def _finished(
    waiting: deque[tuple[Page, int]], ready: list[tuple[Vectored, ...]]
) -> list[EmbeddedPage]:
    """Take the pages whose passages are all ready, and these, out of the queues."""
    finished, begin = [], 0
    while waiting and waiting[0][1] <= len(ready) - begin:
        page, count = waiting.popleft()
        slots, begin = ready[begin : begin + count], begin + count
        finished.append(_numbered(page, [result for slot in slots for result in slot]))
    del ready[:begin]
    return finished


def _numbered(page: Page, results: Sequence[Vectored]) -> EmbeddedPage:
    """Return a page whose passages are counted anew: one may have become several."""
    passages = tuple(
        result
        if result.chunk.position == position
        else replace(result, chunk=replace(result.chunk, position=position))
        for position, result in enumerate(results)
        if isinstance(result, EmbeddedChunk)
    )
    return EmbeddedPage(page=page, passages=passages, refused=len(results) - len(passages))


def store_pages(
    embedded: Sequence[EmbeddedPage], database: Database, parser: Parser, ledger: Ledger
) -> None:
    """Write pages and their passages in one transaction: each of them whole or not at all.

    What was embedded together is written together: a commit waits for the disk.
    """
    if not embedded:
        return
    with ledger.timed("store"), database.transaction():
        _write(embedded, database, parser)
    for stored in embedded:
        ledger.stored(stored.page)


def _signature(parser: Parser) -> str:
    """Name all rules that a stored page came by: another version of any has it stored anew."""
    return f"{parser.signature} names/{NAMES_VERSION}"


def _naming(text: str) -> tuple[Sequence[str], str]:
    found = names_of(text)
    return found.names, found.words


def _write(embedded: Sequence[EmbeddedPage], database: Database, parser: Parser) -> None:
    pages = [(each.page, each.refused) for each in embedded]
    page_ids = database.pages.store_all(pages, parsed_with=_signature(parser))
    passages = {page_id: each.passages for page_id, each in zip(page_ids, embedded, strict=True)}
    database.chunks.replace_all(passages, naming=_naming)


def rebuild(
    sources: Sequence[SourceFile],
    pages: Iterable[tuple[Page, tuple[Chunk, ...]]],
    identity: IndexIdentity,
    database: Database,
    chunker: Chunker,
    embedder: Embedder,
    options: IngestOptions,
    ledger: Ledger,
) -> None:
    """Make everything anew and swap it in at the end.

    First every passage is embedded into the cache while readers still see the old index; then
    one transaction empties the tables and fills them from the cache, without a model.
    """
    batches = with_vectors(pages, database, embedder, options, ledger)
    made = {embedded.page.url for batch in batches for embedded in batch}
    cache = database.embedding_cache(identity.embedding)
    with ledger.timed("store"), database.transaction():
        database.pages.remove_all()
        record_identity(database, options.root, identity)
        for group in _grouped(source for source in sources if source.url in made):
            parsed = [options.parser.parse(source, read(source)) for source in group]
            embedded = [
                _from_cache(page, () if page.is_landing else chunker.chunk(page), cache.known)
                for page in parsed
            ]
            _write(embedded, database, options.parser)
            for page in parsed:
                ledger.stored(page)
        database.pages.renumber()
        database.chunks.refresh_terms()


def _grouped(sources: Iterable[SourceFile]) -> Iterator[list[SourceFile]]:
    """Yield files in groups that fit into memory: few large ones, or many small ones."""
    group: list[SourceFile] = []
    size_bytes = 0
    for source in sources:
        group.append(source)
        size_bytes += source.size_bytes
        if len(group) >= GROUP_PAGES or size_bytes >= GROUP_BYTES:
            yield group
            group, size_bytes = [], 0
    if group:
        yield group


def _from_cache(
    page: Page,
    chunks: Sequence[Chunk],
    known: Callable[[Sequence[str]], Mapping[str, Vector]],
) -> EmbeddedPage:
    hashes = [content_hash(embedded_text(chunk)) for chunk in chunks]
    vectors = known(hashes)
    results: list[Vectored] = []
    for chunk, digest in zip(chunks, hashes, strict=True):
        if digest in vectors:
            vector = vectors[digest]
            results.append(EmbeddedChunk(chunk=chunk, vector=vector, content_hash=digest))
        else:
            results.extend(_pieces_from_cache(chunk, known))
    return _numbered(page, results)


def _pieces_from_cache(
    chunk: Chunk, known: Callable[[Sequence[str]], Mapping[str, Vector]], depth: int = 0
) -> list[Vectored]:
    """Return the pieces in which a passage was embedded; what is not known is refused."""
    digest = content_hash(embedded_text(chunk))
    vectors = known([digest])
    if digest in vectors:
        return [EmbeddedChunk(chunk=chunk, vector=vectors[digest], content_hash=digest)]
    pair = halves(chunk) if depth < DEPTH else None
    pieces = [found for half in pair or () for found in _pieces_from_cache(half, known, depth + 1)]
    if not any(isinstance(piece, EmbeddedChunk) for piece in pieces):
        return [RefusedChunk(chunk=chunk, reason="not_embedded", message="it has no vector")]
    return pieces


def remove_gone(
    stored: Mapping[str, StoredPage],
    database: Database,
    options: IngestOptions,
    ledger: Ledger,
) -> None:
    """Remove stored pages whose file is gone from the covered part; number the rest, count terms.

    Where more than half of a track would go and that was not allowed, its pages stay and are
    reported. A page that was renamed is not gone: its text lives on under another address.
    """
    gone = [
        page for page in stored.values() if page.url not in ledger.kept and options.covers(page)
    ]
    if options.keep_missing:
        ledger.kept_missing(gone)
        gone = []
    elif not options.remove_many:
        gone = _without_mass_removal(gone, stored.values(), ledger)
    with database.transaction():
        if gone:
            database.pages.remove([page.url for page in gone])
        database.pages.renumber()
        database.chunks.refresh_terms()
    for page in gone:
        ledger.removed(page)


def _without_mass_removal(
    gone: Sequence[StoredPage], stored: Iterable[StoredPage], ledger: Ledger
) -> list[StoredPage]:
    before = Counter(page.track for page in stored if not page.is_landing)
    leaving = Counter(
        page.track for page in gone if not page.is_landing and page.sha256 not in ledger.contents
    )
    refused = {track for track, count in leaving.items() if count * 2 > before[track]}
    for track in sorted(refused):
        ledger.spared(track, pages=leaving[track], of=before[track])
    return [page for page in gone if page.track not in refused]
