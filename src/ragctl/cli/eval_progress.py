"""How far a run over questions is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragctl.cli.progress import Doing

if TYPE_CHECKING:
    from ragctl.cli.output import Output


class QuestionProgress(Doing):
    """How many questions are done; use it as a context manager."""

    def __init__(self, output: Output, *, total: int) -> None:
        super().__init__(output, begun=f"0 of {total} questions")
        self._total = total

    def count(self, done: int) -> None:
        """Take how many questions are done."""
        self.show(f"{done} of {self._total} questions")
