"""Ctrl-C and SIGTERM: the program ends within a second, in one line, whatever it waits for."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType, TracebackType

import click

from ragctl.errors import EXIT_INTERRUPTED, EXIT_TERMINATED

UNWINDING_SECONDS = 0.8
_SHOW_CURSOR = "\x1b[?25h"


class Interrupted(BaseException):
    """The program was stopped: what passes click, which would answer Ctrl-C in its own way."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: unwinds like Ctrl-C, of which the database driver knows."""


class Stopping:
    """Takes the two signals for the block.

    The first raises KeyboardInterrupt or :class:`Terminated`, and everything unwinds. What takes
    longer than ``UNWINDING_SECONDS`` (a database that hangs, a text in the model) is cut off, and
    so is everything at the second signal. Nothing is lost by that: the server rolls back what was
    open, and the lease of a process that is gone is free.

    With ``ends_process`` that holds beyond the block too, for what runs when the interpreter
    ends; without it, the process is another's and gets its handlers back.
    """

    def __init__(self, *, ends_process: bool) -> None:
        self._ends_process = ends_process
        self._timer: threading.Timer | None = None
        self._code = 0
        self._told = False
        self._before: list[tuple[int, Callable[[int, FrameType | None], object] | int | None]] = []

    def __enter__(self) -> Stopping:
        for number in (signal.SIGINT, signal.SIGTERM):  # also where it came ignored
            self._before.append((number, signal.signal(number, self._take)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.has_begun and self._ends_process:
            return
        if self._timer is not None:
            self._timer.cancel()
        for number, handler in self._before:
            signal.signal(number, handler)

    @property
    def has_begun(self) -> bool:
        """Whether a signal came: errors after it are of its making."""
        return self._code != 0

    def end(self, error: BaseException) -> int:
        """Say in one line that the program was stopped, and return the exit code.

        A command may have added how far it is as a note to the error that went through it.
        """
        self._tell(next(_notes(error), "Stopped."))
        return self._code or EXIT_INTERRUPTED

    def _take(self, number: int, _frame: FrameType | None) -> None:
        again = self.has_begun
        self._code = EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_TERMINATED
        if again:
            self._cut_off()
        self._timer = threading.Timer(UNWINDING_SECONDS, self._cut_off)
        self._timer.daemon = True
        self._timer.start()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise Terminated

    def _cut_off(self) -> None:
        with suppress(Exception):
            if sys.stderr.isatty():
                sys.stderr.write(_SHOW_CURSOR)
            self._tell("Stopped.")
        os._exit(self._code)

    def _tell(self, line: str) -> None:
        if not self._told:
            self._told = True
            click.echo(line, err=True)


def _notes(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield from getattr(error, "__notes__", ())
        error = error.__cause__ or error.__context__
