"""Runs the program on a pseudo-terminal, as a person sees it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence


def run_on_terminal(*arguments: str, environ: Mapping[str, str]) -> tuple[int, str]:
    """Return exit code and everything written to the terminal, stdout and stderr as they come."""
    return _run([sys.executable, "-m", "ragctl", *arguments], environ)


def _run(command: Sequence[str], environ: Mapping[str, str]) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command,
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


_DRIVER = """
import json, os, sys
from ragctl.cli.main import main
for command in json.loads(os.environ["RAGCTL_TEST_COMMANDS"]):
    try:
        main(command)
    except SystemExit as stopped:
        sys.stdout.flush()
        os.write(1, f"\\n#### {stopped.code}\\n".encode())
"""


def run_all_on_terminal(
    commands: Sequence[Sequence[str]], *, environ: Mapping[str, str]
) -> list[tuple[int, str]]:
    """Return exit code and output of each command, all run in one process on a terminal."""
    given = {**environ, "RAGCTL_TEST_COMMANDS": json.dumps([list(one) for one in commands])}
    _, written = _run([sys.executable, "-c", _DRIVER], given)
    parts = re.split(r"\r\n#### (\d+)\r\n", written)
    return [(int(code), text) for text, code in zip(parts[::2], parts[1::2], strict=False)]
