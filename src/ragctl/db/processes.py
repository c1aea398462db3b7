"""Which processes belong to a cluster. The only importer of psutil; loaded when one is needed.

A process is ours when it is called ``postgres``, is not a zombie and its working directory *is* the
cluster: the same device and inode. A pid from a file is never trusted, because pids are reused and
files survive a crash; the text of a command line is not either, because folders are moved and
erased. What is not ours in this sense is never sent a signal.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil


class ClusterProcesses:
    """The processes of one cluster, found by what they are and not by what a file says."""

    def __init__(self, cluster: Path) -> None:
        self._cluster = cluster

    def look(self) -> tuple[list[int], int | None]:
        """The pids of every live process of the cluster, and the one of the server among them.

        Workers that outlived a killed server are in the list, but none of them is the server.
        """
        found = self._find()
        server = _server_among(found)
        return [process.pid for process in found], server.pid if server else None

    def ask_to_stop(self, *, gently: bool = False) -> None:
        """Ask the server for a fast shutdown, or ``gently`` for one after all have disconnected.

        Nothing where none runs. It is looked for at this moment, so that a pid from earlier cannot
        mean another process. Raises PermissionError if it is not ours to signal.
        """
        server = _server_among(self._find())
        if server is None:
            return
        try:
            server.send_signal(signal.SIGTERM if gently else signal.SIGINT)
        except psutil.NoSuchProcess:
            return
        except psutil.AccessDenied as error:
            raise PermissionError(f"process {server.pid} belongs to another user") from error

    def _find(self) -> list[psutil.Process]:
        try:
            here = self._cluster.stat()
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [process for process in _everyone() if _works_in(process, here)]

    @staticmethod
    def exists(pid: int) -> bool:
        """Whether any process, a zombie too, has this pid."""
        return psutil.pid_exists(pid)

    @staticmethod
    def is_alive(pid: int) -> bool:
        """Whether a process with this pid runs and is not a zombie."""
        try:
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True


def _everyone() -> Iterator[psutil.Process]:
    """Every process, looked at anew: psutil's own iterator remembers pids that were reused."""
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):
            yield psutil.Process(pid)


def _server_among(found: list[psutil.Process]) -> psutil.Process | None:
    """The server among all processes of a cluster; None when there are only orphaned workers."""
    pids = {process.pid for process in found}
    for process in found:
        with contextlib.suppress(psutil.Error):
            # Workers rename themselves "postgres: ..."; until then their parent tells them.
            title = "".join(process.cmdline()[:1])
            if process.ppid() not in pids and not title.startswith("postgres: "):
                return process
    return None


def _works_in(process: psutil.Process, folder: os.stat_result) -> bool:
    try:
        return process.name() == "postgres" and any(
            os.path.samestat(folder, place) for place in _working_directory(process)
        )
    except (psutil.Error, OSError):
        return False


def _working_directory(process: psutil.Process) -> Iterator[os.stat_result]:
    """Where a process works; nothing for a zombie. Linux tells it even of an erased folder."""
    magic = Path(f"/proc/{process.pid}/cwd")
    yield (magic if psutil.LINUX else Path(process.cwd())).stat()
