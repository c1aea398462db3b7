"""The program as a user runs it: arguments in, output and exit code out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ragctl.cli.main import main

PAGES = {
    "design/_index.md": "---\ntitle: System design\n---\nAll about systems.\n",
    "design/01-buckets.md": (
        "---\ntitle: Rate limiter\n---\n## The token bucket\n\n"
        "The token bucket refills lazily, when a request arrives.\n"
    ),
    "design/02-queues.md": (
        "# Queues\n\nA queue holds work until somebody is free to do it.\n\n"
        "A full queue refuses new work at once.\n"
    ),
    "kernel/10-rcu.md": "---\ntitle: RCU\n---\nReaders never wait for writers.\n",
    "kernel/11-draft.md": "---\ntitle: Draft\ndraft: true\n---\nNot ready yet.\n",
}


@dataclass(frozen=True)
class Done:
    """How a run ended: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as JSON."""
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


class Program:
    """Runs ragctl in this process, against a database and a model server of the test's own."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.folder = folder

    def set(self, **environment: str) -> None:
        """Set environment variables for the runs that follow."""
        for name, value in environment.items():
            self._monkeypatch.setenv(name, value)

    def __call__(self, *arguments: str) -> Done:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        out, err = self._capsys.readouterr()
        code = stopped.value.code
        return Done(code=code if isinstance(code, int) else -1, out=out, err=err)


def run_process(
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    text_in: str | None = None,
    timeout_seconds: float = 60,
) -> subprocess.CompletedProcess[bytes]:
    """Run ragctl as a process of its own, with exactly this environment added to ours."""
    return subprocess.run(
        [sys.executable, "-m", "ragctl", *arguments],
        input=None if text_in is None else text_in.encode(),
        stdin=subprocess.DEVNULL if text_in is None else None,
        capture_output=True,
        timeout=timeout_seconds,
        env={**os.environ, **(environ or {})},
        check=False,
    )
