"""Streams that are full or closed, a folder that is gone, a stop while the program loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program import Program

RAGCTL = f"{sys.executable} -m ragctl"


def _shell(command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environ},
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (f"{RAGCTL} db status > /dev/full", 2, "the output: No space left on device"),
        (f"{RAGCTL} nonsense 2> /dev/full", 2, ""),
        (f"{RAGCTL} db status >&- 2>&-", 0, ""),
        (f"{RAGCTL} ask - <&-", 2, "the question is empty"),
        (f"mkdir gone && cd gone && rmdir ../gone && {RAGCTL} db status", 2, "no longer exists"),
    ],
)
def test_a_stream_or_folder_that_cannot_be_used_is_one_line(
    command: str, code: int, said: str, ragctl: Program
) -> None:
    done = _shell(command)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "bug" not in done.stderr


def test_a_path_that_is_too_long_is_no_bug(ragctl: Program, site: Path) -> None:
    done = ragctl("ingest", str(site), "--artifacts", "n" * 300)
    assert done.code == 2
    assert "File name too long" in done.err


def test_ctrl_c_while_the_program_loads_ends_it_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(30)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "ragctl", "sources"],
        capture_output=True,
        timeout=20,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        check=False,
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""
