"""The program as a process of its own, forked from this one: nothing has to be loaded anew."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Mapping

from ragctl.cli.commands import COMMANDS
from ragctl.cli.main import main
from tests.program import Done


def forked(*arguments: str, environ: Mapping[str, str]) -> Done:
    """Run ragctl to its end in a process that is gone afterwards, lease and all."""
    for command in COMMANDS:
        importlib.import_module(command.module)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            _become_ragctl(arguments, environ, out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return Done(code=code, out=texts[0], err=texts[1])


def _become_ragctl(
    arguments: tuple[str, ...], environ: Mapping[str, str], out: int, err: int
) -> None:
    code = 99
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        for name in list(os.environ):
            if name.startswith(("RAGCTL_", "PG")):
                del os.environ[name]
        os.environ.update(environ)
        main(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 98
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
