"""Runs the program on a pseudo-terminal, as a person sees it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping


def run_on_terminal(*arguments: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """Return exit code and everything written to the terminal, stdout and stderr as they come."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ragctl", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **environ},
        close_fds=True,
        start_new_session=True,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    return process.wait(timeout=60), written.decode("utf-8", "replace")
