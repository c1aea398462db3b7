"""Progress of an ingest and of long steps: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ragctl.records.ingest import IngestProgress

if TYPE_CHECKING:
    from ragctl.cli.output import Output

SECONDS_BETWEEN_LINES = 5.0


class Doing:
    """How far a long step is, in a line of its own words; use it as a context manager."""

    def __init__(self, output: Output, *, begun: str) -> None:
        self._output = output
        self._last_line = time.monotonic()
        self._status = Status(begun, console=output.remarks) if output.is_live else None

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, line: str) -> None:
        """Take the newest line; off a terminal it is printed every few seconds."""
        now = time.monotonic()
        if self._status is not None:
            self._status.update(line)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._output.remark(line)


class Progress:
    """Shows the newest :class:`~ragctl.records.IngestProgress`; use it as a context manager."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._began = time.monotonic()
        self._last_line = self._began
        self._progress = IngestProgress()
        self._live = (
            Live(
                self,
                console=output.remarks,
                refresh_per_second=8,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            if output.is_live
            else None
        )

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if error is not None and not isinstance(error, Exception):
            error.add_note(self.stopped())  # told at the end, where everything has let go

    def show(self, progress: IngestProgress) -> None:
        """Take the newest progress and, off a terminal, print a line every few seconds."""
        self._progress = progress
        now = time.monotonic()
        if self._live is None and now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._output.remark(self.line())

    def stopped(self) -> str:
        """Return what an interrupted run has done and how to go on."""
        progress = self._progress
        stored = progress.pages_unchanged + progress.pages_stored
        return (
            f"Interrupted: {stored} of {progress.pages} pages stored. "
            "Run the same command to go on; no text is embedded twice."
        )

    def line(self) -> str:
        """Return the progress in one line: parsed, embedded with rate, stored, time left."""
        progress = self._progress
        return (
            f"parsed {progress.pages_parsed + progress.pages_unchanged}/{progress.pages} pages, "
            f"embedded {self._done_passages()}/{progress.passages_cut} passages "
            f"({self._rate():.0f}/s), "
            f"stored {progress.pages_stored + progress.pages_unchanged}/{progress.pages} pages"
            f"{self._time_left()}"
        )

    def __rich__(self) -> Group:
        progress = self._progress
        table = Table.grid(padding=(0, 1))
        done_pages = progress.pages_parsed + progress.pages_unchanged
        stored = progress.pages_stored + progress.pages_unchanged
        rows = (
            ("parse", done_pages, progress.pages, "pages"),
            ("embed", self._done_passages(), progress.passages_cut, "passages"),
            ("store", stored, progress.pages, "pages"),
        )
        for name, done, total, unit in rows:
            bar = ProgressBar(total=max(total, 1), completed=done, width=20)
            table.add_row(name, bar, f"{done}/{total} {unit}")
        return Group(table, Text(f"{self._rate():.0f} passages/s{self._time_left()}", style="dim"))

    def _done_passages(self) -> int:
        return self._progress.passages_embedded + self._progress.passages_reused

    def _rate(self) -> float:
        return self._done_passages() / max(time.monotonic() - self._began, 1e-6)

    def _time_left(self) -> str:
        progress = self._progress
        if not progress.bytes_stored or progress.bytes_stored >= progress.bytes:
            return ""
        elapsed = time.monotonic() - self._began
        seconds = elapsed * (progress.bytes - progress.bytes_stored) / progress.bytes_stored
        shown = f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
        return f", about {shown} left"
