"""How far a run over questions is."""

from __future__ import annotations

import time
from types import TracebackType

from rich.status import Status

from ragctl.cli.output import Output

SECONDS_BETWEEN_LINES = 5.0


class QuestionProgress:
    """How many questions are done: on a terminal all the time, elsewhere a line now and then."""

    def __init__(self, output: Output, *, total: int) -> None:
        self._output = output
        self._total = total
        self._last_line = time.monotonic()
        self._status = Status(self._line(0), console=output.remarks) if output.is_live else None

    def __enter__(self) -> QuestionProgress:
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

    def show(self, done: int) -> None:
        """Take how many questions are done."""
        now = time.monotonic()
        if self._status is not None:
            self._status.update(self._line(done))
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._output.remark(self._line(done))

    def _line(self, done: int) -> str:
        return f"{done} of {self._total} questions"
