"""The folder of a PostgreSQL cluster: made, given its settings, cleared of stale files, started.

- **Half-made clusters.** initdb works in a folder beside the cluster, which is renamed when done.
- **Pid files lie.** They are empty after a full disk, stale after a crash, and name another process
  after a reboot. They are put away only when nothing answers and no process works in the cluster.
- **Memory.** What is shared is chosen at each start (``server_memory.py``). A server that does not
  start with it is started with the least.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.db.server_hints import hint_for, last_lines
from ragctl.db.server_memory import (
    LEAST_BYTES,
    MEGABYTE,
    buffers_at_start,
    largest_relation_bytes,
)
from ragctl.db.socket_way import SOCKET_NAME
from ragctl.errors import ServerError

if sys.platform != "win32":
    from ragctl.db.programs import Account, Programs, launch, run

if TYPE_CHECKING:
    from ragctl.db.processes import ClusterProcesses

LONGEST_LOG_BYTES = 10_000_000
SETTINGS_FILE = "ragctl.conf"

_PAUSE_SECONDS = 0.02
_OF_INITDB = "128MB"
_OWN_BUFFERS = re.compile(r"^\s*shared_buffers\s*=?\s*'?([^\s'#]+)", re.IGNORECASE | re.MULTILINE)
_REMARK = "# Remark: "
_SETTINGS = """\
# Written by ragctl whenever it starts the server. Settings of your own go into postgresql.conf,
# below the line that includes this file.
listen_addresses = ''
port = 5432
unix_socket_directories = '.'
unix_socket_permissions = 0700
max_connections = 60
log_destination = 'stderr'
logging_collector = off
log_checkpoints = off
cluster_name = 'ragctl'
"""
_WRITE_SETTINGS = """set -e
cat >ragctl.conf.new
mv -f ragctl.conf.new ragctl.conf
grep -q "^include 'ragctl.conf'" postgresql.conf ||
    printf "\\ninclude 'ragctl.conf'\\n" >>postgresql.conf
"""


class ServerEnded(ServerError):
    """A server that was started ended before it took commands."""


class Cluster:
    """One cluster, whether or not it was made; nothing here looks for a server that runs.

    All methods raise ServerError or OSError where the disk, the rights or the programs forbid it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "server.log"

    def version(self) -> str:
        """Return the text of PG_VERSION, "" where there is no cluster."""
        try:
            return (self.folder / "PG_VERSION").read_text("utf-8", errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def processes(self) -> ClusterProcesses:
        """Return what looks for the processes of this cluster."""
        from ragctl.db.processes import ClusterProcesses

        return ClusterProcesses(self.folder)

    def create(
        self, programs: Programs, account: Account, *, lock: int, timeout_seconds: float
    ) -> None:
        """Make the cluster beside its place, then move it there: all of it or nothing.

        initdb inherits the descriptor ``lock``, so that it is not mistaken for a leftover when its
        caller is killed.
        """
        folder = self.folder
        if folder.is_dir() and any(folder.iterdir()):
            raise ServerError(
                f"{folder} is not empty and holds no PostgreSQL cluster.",
                hint="Move it away, or set RAGCTL_DATA_DIR to another folder.",
            )
        for leftover in folder.parent.iterdir():
            if leftover.name.startswith(f"{folder.name}.new-"):
                shutil.rmtree(leftover)
        staging = Cluster(folder.with_name(f"{folder.name}.new-{os.getpid()}"))
        staging.folder.mkdir(mode=0o700)
        try:
            if account.uid is not None and account.gid is not None:
                os.chown(staging.folder, account.uid, account.gid)
            self._run_initdb(programs, account, staging.folder, lock, timeout_seconds)
            staging._write_settings(account, _settings(LEAST_BYTES))
            staging.folder.rename(folder)
            _sync_folder(folder.parent)
        finally:
            shutil.rmtree(staging.folder, ignore_errors=True)

    def _run_initdb(
        self,
        programs: Programs,
        account: Account,
        staging: Path,
        lock: int,
        timeout_seconds: float,
    ) -> None:
        options = ["--username=postgres", "--auth-local=trust", "--auth-host=reject"]
        options += ["--encoding=UTF8", "--locale=C"]
        made = run(
            [programs.folder / "initdb", *options, "-D", "."],
            account=account,
            cwd=staging,
            keep_open=[lock],
            timeout_seconds=timeout_seconds,
        )
        if made.returncode != 0:
            raise ServerError(
                f"The cluster {self.folder} cannot be made:\n{last_lines(made.stdout)}",
                hint=hint_for(made.stdout),
            )

    def start(
        self,
        programs: Programs,
        account: Account,
        *,
        memory_bytes: int,
        is_ready: Callable[[], bool],
        timeout_seconds: float,
    ) -> None:
        """Start the server, which does not run, and wait until it is ready.

        Raises :class:`ServerEnded` with the end of its log where it does not start at all.
        """
        largest = largest_relation_bytes(self.folder)
        buffers = buffers_at_start(largest_bytes=largest, memory_bytes=memory_bytes)
        has_own = self._has_own_buffers()
        self._write_settings(account, _settings(None if has_own else buffers))
        try:
            self._launch(programs, account, is_ready, timeout_seconds)
        except ServerEnded:
            if has_own or buffers <= LEAST_BYTES:
                raise
            remark = f"the server did not start with {_megabytes(buffers)} of shared memory"
            self._write_settings(account, _settings(LEAST_BYTES, remark=remark))
            self._launch(programs, account, is_ready, timeout_seconds)

    def remark(self) -> str:
        """Return what the last start had to say, "" where nothing."""
        with contextlib.suppress(OSError):
            text = (self.folder / SETTINGS_FILE).read_text("utf-8", errors="replace")
            first, _, _ = text.partition("\n")
            return first.removeprefix(_REMARK) if first.startswith(_REMARK) else ""
        return ""

    def _launch(
        self,
        programs: Programs,
        account: Account,
        is_ready: Callable[[], bool],
        timeout_seconds: float,
    ) -> None:
        self._put_away_stale_files()
        with contextlib.suppress(FileNotFoundError):
            if self.log.stat().st_size > LONGEST_LOG_BYTES:
                self.log.replace(self.log.with_suffix(".log.1"))
        begin = self.log.stat().st_size if self.log.exists() else 0
        program = programs.folder / "postgres"
        pid = launch(program, cluster=self.folder, log=self.log, account=account)
        processes = self.processes()
        deadline = time.monotonic() + timeout_seconds
        while not is_ready():
            if not processes.is_alive(pid):
                shown = self.shown_log(begin)
                raise ServerEnded(
                    f"The server of {self.folder} does not start:\n{shown}",
                    hint=hint_for(shown, default=f"See {self.log}"),
                )
            if time.monotonic() > deadline:
                raise self.stuck(f"is not ready after {timeout_seconds:.0f} s")
            time.sleep(_PAUSE_SECONDS)

    def _has_own_buffers(self) -> bool:
        """Tell whether the user chose ``shared_buffers``, above our line in postgresql.conf too."""
        with contextlib.suppress(OSError):
            text = (self.folder / "postgresql.conf").read_text("utf-8", errors="replace")
            return any(value != _OF_INITDB for value in _OWN_BUFFERS.findall(text))
        return False

    def _write_settings(self, account: Account, settings: str) -> None:
        """Write our settings as the server's own user, so that the files belong to it."""
        with contextlib.suppress(FileNotFoundError):
            if (self.folder / SETTINGS_FILE).read_bytes() == settings.encode():
                return
        shell = ["/bin/sh", "-c", _WRITE_SETTINGS]
        written = run(shell, account=account, cwd=self.folder, text=settings)
        if written.returncode != 0:
            raise ServerError(
                f"The settings of {self.folder} cannot be written:\n{last_lines(written.stdout)}",
                hint=hint_for(written.stdout),
            )

    def _put_away_stale_files(self) -> None:
        """Erase lock files that would mislead PostgreSQL; nothing of ours runs now.

        It sees through a file with the pid of no process at all, and then looks whether the dead
        server's shared memory is still in use. That check is worth keeping.
        """
        processes = self.processes()
        for name in ("postmaster.pid", f"{SOCKET_NAME}.lock"):
            path = self.folder / name
            with contextlib.suppress(FileNotFoundError):
                number = re.match(rb"-?([1-9]\d{0,8})\s", path.read_bytes())
                if number is None or processes.exists(int(number[1])):
                    path.unlink()

    def shown_log(self, begin: int = 0) -> str:
        """Return the last lines of the log, of those behind a byte."""
        with contextlib.suppress(OSError), self.log.open("rb") as lines:
            lines.seek(begin)
            return last_lines(lines.read().decode("utf-8", errors="replace"))
        return ""

    def stuck(self, what: str) -> ServerError:
        """Return the error for a server that neither works nor ends."""
        return ServerError(
            f"The server of {self.folder} {what}:\n{self.shown_log()}",
            hint=f"It may still be recovering. See {self.log}, and try again later.",
        )


def _settings(buffers: int | None, *, remark: str = "") -> str:
    """Return the settings file; ``None`` leaves ``shared_buffers`` to the user."""
    text = f"{_REMARK}{remark}\n" if remark else ""
    text += _SETTINGS
    return text if buffers is None else f"{text}shared_buffers = {_megabytes(buffers)}\n"


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes // MEGABYTE}MB"


def _sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` last through a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
