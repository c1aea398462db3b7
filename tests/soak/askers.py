"""A process that asks: it loads the program once, and forks for every question it is told.

``python -m tests.soak.askers`` reads a call a line from its standard input, and answers with the
pid of the child and, once that has ended, with its exit code.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LOADED = (
    *("ragctl.cli.ask", "ragctl.cli.markdown", "ragctl.gateway.generator", "ragctl.gateway.slots"),
    *("ragctl.models.ollama", "ragctl.models.openai", "ragctl.db.slots", "ragctl.db.traces"),
    *("ragctl.db.answer_cache", "ragctl.db.question_embeddings", "ragctl.db.breakers", "psutil"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a call ended: exit code (negative for a signal), output, and between which moments."""

    code: int
    out: str
    err: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended - self.began


class Asker:
    """One of the processes that ask, one question after the other."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self.pid: int | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.askers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(environment),
            text=True,
        )
        folder.mkdir(exist_ok=True)

    def ask(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        limit_seconds: float,
        on_start: Callable[[int], None],
    ) -> Ended:
        """Make a call and wait for its end; one that takes too long is killed."""
        out, err = self._folder / "out", self._folder / "err"
        call = {"arguments": list(arguments), "environment": dict(environment)}
        for file in (out, err):  # the child may end before it opens them
            file.write_text("")
        began = time.monotonic()
        self._tell({**call, "out": str(out), "err": str(err)})
        self.pid = int(self._told()["pid"])
        on_start(self.pid)
        late = threading.Timer(limit_seconds, os.kill, (self.pid, 9))
        late.start()
        code = int(self._told()["code"])
        late.cancel()
        self.pid = None
        return Ended(
            code=code,
            out=out.read_text(encoding="utf-8", errors="replace"),
            err=err.read_text(encoding="utf-8", errors="replace"),
            began=began,
            ended=time.monotonic(),
        )

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def _tell(self, document: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(document) + "\n")
        self._process.stdin.flush()

    def _told(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


def main() -> None:
    """Fork for each line, and tell what became of the child."""
    for name in _LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        call = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _be_the_child(call)
        print(json.dumps({"pid": pid}), flush=True)
        _, status = os.waitpid(pid, 0)
        print(json.dumps({"code": os.waitstatus_to_exitcode(status)}), flush=True)


def _be_the_child(call: Mapping[str, Any]) -> None:
    from ragctl.cli.main import main as program

    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(call[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
    os.environ.update(call["environment"])
    sys.argv = ["ragctl", *call["arguments"]]
    code = 70
    try:
        program()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:  # before or after all that the program can see to
        code = 130
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
