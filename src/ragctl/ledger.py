"""The ledger of one ingest: what went into each stage, what came out, and how long it took."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ragctl.records.chunks import EmbeddedChunk, RefusedChunk
from ragctl.records.ingest import IngestProgress, IngestSummary, RunCounts
from ragctl.records.pages import ROOT_TRACK, LeftOut, Page, SourceFile
from ragctl.records.stored import StoredPage, TrackSummary

if TYPE_CHECKING:
    from ragctl.records.vectors import IndexIdentity

Vectored = EmbeddedChunk | RefusedChunk


class HeldPage(Protocol):
    """What the summary needs to know of a page."""

    @property
    def track(self) -> str:
        """The track it belongs to."""

    @property
    def is_landing(self) -> bool:
        """Whether it introduces a folder."""

    @property
    def passages(self) -> int:
        """How many passages it gives."""


class Ledger:
    """Counts pages and passages as they pass, and reports after every step.

    ``kept`` are the addresses that still have a file: stored pages outside it are gone.
    ``contents`` are the sha256 of the files that were parsed: a gone page with one of them was
    renamed.
    """

    def __init__(
        self,
        sources: Sequence[SourceFile],
        left_out: Sequence[LeftOut],
        *,
        clock: Callable[[], float],
        report: Callable[[IngestProgress], None],
    ) -> None:
        self._clock = clock
        self._report = report
        self._began = clock()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._embedded: Counter[str] = Counter()
        self._stored: Counter[str] = Counter()
        self._unchanged: Counter[str] = Counter()
        self._removed: Counter[str] = Counter()
        self._left_out = list(left_out)
        self._refused: list[RefusedChunk] = []
        self._warnings: list[str] = []
        self._paths: dict[str, str] = {}
        self.kept: set[str] = set()
        self.contents: set[str] = set()
        self.progress = IngestProgress(
            pages=len(sources), bytes=sum(source.size_bytes for source in sources)
        )
        report(self.progress)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent in the block to a stage."""
        began = self._clock()
        try:
            yield
        finally:
            self._seconds[stage] += self._clock() - began

    def unchanged(self, source: SourceFile) -> None:
        """A page whose file is what was ingested before."""
        self.kept.add(source.url)
        self._unchanged[source.track] += 1
        self._advance(pages_unchanged=1, bytes_stored=source.size_bytes)

    def leave_out(self, source: SourceFile, reason: str, *, intended: bool, keep: bool) -> None:
        """A file that gives no page; ``keep`` spares what was stored from it before."""
        self._left_out.append(LeftOut(path=source.path, reason=reason, intended=intended))
        if keep:
            self.kept.add(source.url)
        self._advance(bytes_stored=source.size_bytes)

    def parsed(self, page: Page, passages: int) -> None:
        """A page that was parsed and cut."""
        self.kept.add(page.url)
        self.contents.add(page.sha256)
        self._paths[page.url] = page.source_path
        self._warnings.extend(page.warnings)
        if passages == 0 and not page.is_landing:
            self._note_silence(page)
        self._advance(pages_parsed=1, passages_cut=passages)

    def still_silent(self, page: Page) -> None:
        """An unchanged page that gave no passages: told in every run, not only in the first."""
        self._warnings.extend(page.warnings)
        self._note_silence(page)

    def _note_silence(self, page: Page) -> None:
        has_text = not is_empty(page)
        reason = "no text left after parsing" if has_text else "empty page"
        self._left_out.append(LeftOut(path=page.source_path, reason=reason, intended=not has_text))

    def embedded(self, results: Iterable[Vectored], *, computed: Collection[str]) -> None:
        """Passages that came out of the embedder; ``computed`` are the hashes it worked on."""
        fresh = reused = 0
        for result in results:
            if isinstance(result, RefusedChunk):
                path = self._paths.get(result.chunk.url, result.chunk.url)
                self._refused.append(replace(result, path=path))
            elif result.content_hash in computed:
                self._embedded[result.chunk.track] += 1
                fresh += 1
            else:
                reused += 1
        self._advance(passages_embedded=fresh, passages_reused=reused)

    def stored(self, page: Page) -> None:
        """A page that was written."""
        self._stored[page.track] += 1
        self._advance(pages_stored=1, bytes_stored=page.size_bytes)

    def removed(self, page: StoredPage) -> None:
        """A stored page whose file is gone."""
        self._removed[page.track] += 1

    @property
    def has_written(self) -> bool:
        """Whether pages were stored or removed."""
        return bool(self._stored or self._removed)

    def kept_missing(self, pages: Sequence[StoredPage]) -> None:
        """Stored pages whose file is gone and that stay because the user said so."""
        self._left_out.extend(
            LeftOut(path=page.source_path, reason="gone, kept by --keep-missing", intended=True)
            for page in pages
        )

    def spared(self, track: str, *, pages: int, of: int) -> None:
        """A track of which more than half would be removed, and was not."""
        reason = f"{pages} of {of} pages are gone from disk; kept: give --yes to remove them"
        self._left_out.append(LeftOut(path=f"{track}/", reason=reason, intended=False))

    def summary(
        self, *, root: str, index: IndexIdentity | None, pages: Sequence[HeldPage]
    ) -> IngestSummary:
        """Close the ledger: ``pages`` are those the covered part of the site now holds."""
        self._seconds["total"] = self._clock() - self._began
        return IngestSummary(
            root=root,
            embedding=index.embedding.label if index else "",
            tracks=self._tracks(pages),
            left_out=tuple(sorted(self._left_out, key=lambda left: left.path)),
            refused=tuple(self._refused),
            warnings=tuple(self._warnings),
            seconds=dict(self._seconds),
        )

    def counts(self) -> RunCounts:
        """Return what the record of the run keeps, also of one that was stopped."""
        return RunCounts(
            pages=self.progress.pages_stored,
            passages=self.progress.passages_cut,
            embedded=self.progress.passages_embedded,
            left_out=tuple(self._left_out),
        )

    def _tracks(self, pages: Sequence[HeldPage]) -> tuple[TrackSummary, ...]:
        left_out = Counter(_track_of(left.path) for left in self._left_out)
        held = Counter(page.track for page in pages if not page.is_landing)
        passages: Counter[str] = Counter()
        for page in pages:
            passages[page.track] += page.passages
        names = {*held, *left_out, *self._removed, *(page.track for page in pages)}
        return tuple(
            TrackSummary(
                track=track,
                pages=held[track],
                passages=passages[track],
                embedded=self._embedded[track],
                stored=self._stored[track],
                unchanged=self._unchanged[track],
                removed=self._removed[track],
                left_out=left_out[track],
            )
            for track in sorted(names, key=lambda name: (name != ROOT_TRACK, name))
        )

    def _advance(self, **counts: int) -> None:
        advanced = {name: getattr(self.progress, name) + more for name, more in counts.items()}
        self.progress = replace(self.progress, **advanced)
        self._report(self.progress)


def is_empty(page: Page) -> bool:
    """Tell whether a page's file holds nothing but front matter and blank lines."""
    kinds = {removal.kind for removal in page.removals}
    return page.size_bytes == 0 or (bool(kinds) and kinds <= {"front_matter", "blank"})


def _track_of(path: str) -> str:
    track, slash, _ = path.partition("/")
    return track if slash else ROOT_TRACK
