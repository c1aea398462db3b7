"""Standard input, output and error, in whatever state the program was started.

A descriptor that the caller closed (``>&-``) is made to lead nowhere: the first file or socket
that the program opens would get its number, and what was meant for a reader with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def prepare_streams() -> None:
    """Open what is closed, and let no character that a stream cannot hold end the program."""
    for number, (name, mode) in enumerate(_STREAMS):
        if not _is_open(number):  # all lower numbers are taken: it becomes this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def silence_output() -> None:
    """Send what is still to be written nowhere, so that the interpreter ends without complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
