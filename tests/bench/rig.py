"""What is measured on: a server in a folder of its own, which is gone when the block ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ragctl.db.connect import Connection, connect
from ragctl.db.database import Database
from ragctl.db.embedded import create_database, drop_database, refit
from ragctl.db.migrate import migrate
from ragctl.db.server import EmbeddedServer

REPOSITORY = Path(__file__).resolve().parents[2]
_LAUNCHER = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))
HANDBOOK = REPOSITORY / "src" / "ragctl" / "handbook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a process ended: wall and CPU milliseconds, the most memory it had, what it printed."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float
    code: int
    out: str
    err: str


class Rig:
    """An embedded server below ``base`` and ways to run the program on it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.server = EmbeddedServer(base / "data", system_dir=base / "system")

    @contextmanager
    def database(
        self, name: str, *, fill: Callable[[Database, Connection], None] | None = None
    ) -> Iterator[tuple[Database, Connection]]:
        """Make a migrated database for the block, open, with the connection beneath it.

        What ``fill`` stored is found by a server whose memory fits it, as it is after an ingest.
        """
        create_database(self.server, name)
        url = self.server.url(name)
        with connect(url) as connection:
            migrate(connection, url)
        try:
            if fill is not None:
                connection = connect(url)
                with Database.over(connection, url) as opened:
                    fill(opened, connection)
                refit(self.server, name)
            connection = connect(url)
            with Database.over(connection, url) as opened:
                yield opened, connection
        finally:
            drop_database(self.server, name)

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a process that uses this server and no settings of the user.

        Modules are compiled once, as they are where a package is installed.
        """
        left_out = ("RAGCTL_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(left_out)}
        return {
            **kept,
            "PYTHONPATH": os.pathsep.join(
                filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH")))
            ),
            "RAGCTL_DATA_DIR": str(self.base / "data"),
            "PYTHONPYCACHEPREFIX": str(self.base / "compiled"),
            "XDG_CONFIG_HOME": str(self.base / "config"),
            **more,
        }

    def run(self, *arguments: str, environ: dict[str, str]) -> Run:
        """Run Python with arguments to its end and measure the process."""
        return started(arguments, environ, self.base)


def started(arguments: tuple[str, ...], environ: dict[str, str], folder: Path) -> Run:
    """Run Python with arguments to its end; raises CalledProcessError where that is not 0 or 7."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        out, err = Path(scratch, "out"), Path(scratch, "err")
        launcher = subprocess.Popen(
            [*_LAUNCHER, str(out), str(err), sys.executable, *arguments],
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environ,
            process_group=0,
        )
        try:
            told, _ = launcher.communicate()
        except BaseException:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()
            raise
        wall_ms, cpu_ms, peak, code = told.split()
        printed, said = out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
    if int(code) not in (0, 7):
        failed = subprocess.CalledProcessError(int(code), arguments, printed, said)
        failed.add_note(said)
        raise failed
    kilobyte = 1024 if sys.platform == "linux" else 1
    return Run(
        wall_ms=float(wall_ms),
        cpu_ms=float(cpu_ms),
        peak_mb=int(peak) * kilobyte / 1e6,
        code=int(code),
        out=printed,
        err=said,
    )


@contextmanager
def a_rig() -> Iterator[Rig]:
    """Start a server below /tmp for the block; also on Ctrl-C and SIGTERM nothing stays behind."""
    before = signal.signal(signal.SIGTERM, _stop)
    base = Path(tempfile.mkdtemp(prefix="ragctl-bench-", dir="/tmp"))
    base.chmod(0o711)  # the server's own user must reach its cluster
    rig = Rig(base)
    try:
        rig.server.ensure_running()
        yield rig
    finally:
        signal.signal(signal.SIGTERM, before)
        rig.server.stop()
        shutil.rmtree(base, ignore_errors=True)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
